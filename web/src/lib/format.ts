// Numbers for people, always with their unit.

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count: number): string {
  let value = Math.max(0, count);
  let unit = 0;
  while (value >= 1024 && unit < kUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${kUnits[unit]}`;
}

// "45 s", "3 min 20 s", "2 h 5 min", "4 d 3 h"
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const parts: [number, string, number][] = [
    [86400, "d", 24 * 3600],
    [3600, "h", 3600],
    [60, "min", 60],
    [1, "s", 1],
  ];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  let left = seconds;
  const words: string[] = [];
  for (const [size, unit] of parts.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) words.push(`${count} ${unit}`);
  }
  return words.join(" ");
}

export const percent = (share: number): string => `${Math.round(Math.min(1, Math.max(0, share)) * 100)} %`;

export const tokens = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "token" : "tokens"}`;

export const counted = (count: number, one: string, several = `${one}s`): string => `${count.toLocaleString("en")} ${count === 1 ? one : several}`;

export function parameters(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} B parameters`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(0)} M parameters`;
  return `${(count / 1e3).toFixed(0)} k parameters`;
}
