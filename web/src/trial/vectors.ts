// Similarity of embeddings.

export function cosine(a: readonly number[], b: readonly number[]): number {
  let [product, lengthA, lengthB] = [0, 0, 0];
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    product += a[at]! * b[at]!;
    lengthA += a[at]! ** 2;
    lengthB += b[at]! ** 2;
  }
  return lengthA > 0 && lengthB > 0 ? product / Math.sqrt(lengthA * lengthB) : 0;
}
export const cosineTable = (vectors: readonly (readonly number[])[]): number[][] => vectors.map((a) => vectors.map((b) => cosine(a, b)));

// One text a line; empty lines are none.
export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
