// A request of the page as a command for a shell. The key is not in it.

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export interface Request {
  path: string;
  body?: Record<string, unknown>; // JSON
  form?: Record<string, string>; // "@name": a file
  output?: string; // the file for the answer
}

export function curlOf(root: string, { path, body, form, output }: Request, withKey: boolean): string {
  const parts = [`curl ${quoted(root + path)}`];
  if (withKey) parts.push(`-H "Authorization: Bearer $CORRAL_API_KEY"`);
  if (body) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  for (const [name, value] of Object.entries(form ?? {})) parts.push(`-F ${quoted(`${name}=${value}`)}`);
  if (output !== undefined) parts.push(`-o ${quoted(output)}`);
  return parts.join(" \\\n  ");
}
