// Packs the files of dist into one file that the server embeds (format: src/console/pack.h).
//   node pack.mjs [OUTPUT]    default: ../build/console/console.pack
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const output = process.argv[2] ?? join(here, "../build/console/console.pack");

const kTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

function filesOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesOf(join(folder, entry.name)) : [join(folder, entry.name)]))
    .sort();
}

const files = filesOf(dist).map((file) => ({ path: relative(dist, file).replaceAll("\\", "/"), bytes: readFileSync(file) }));
const index = files.find((file) => file.path === "index.html");
if (!index) throw new Error("dist has no index.html: run vite build first");
// The same page for the address "/", from which the other files are below "console/".
const html = index.bytes.toString();
if (!html.includes('"./assets/')) throw new Error("index.html refers to no file of ./assets: the page would be empty");
files.push({ path: "root.html", bytes: Buffer.from(html.replaceAll('"./assets/', '"./console/assets/')) });

const packed = files.map(({ path, bytes }) => {
  const type = kTypes[extname(path)];
  if (!type) throw new Error(`${path}: no media type is known for this file`);
  const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });
  const etag = createHash("sha256").update(bytes).digest("hex").slice(0, 20);
  const line = [path, type, bytes.length, gzip.length, etag, path.startsWith("assets/") ? "immutable" : "fresh"].join("\t");
  return { line, gzip };
});

mkdirSync(dirname(output), { recursive: true });
const text = packed.map(({ line }) => `${line}\n`).join("") + "\n";
writeFileSync(`${output}.new`, Buffer.concat([Buffer.from(text), ...packed.map(({ gzip }) => gzip)]));
renameSync(`${output}.new`, output);
const sum = packed.reduce((bytes, { gzip }) => bytes + gzip.length, 0);
console.log(`${packed.length} files, ${(sum / 1000).toFixed(1)} kB gzip`);
