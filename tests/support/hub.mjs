// A hub of models on the loopback, and Ollama's registry beside it, which do wrong on command. Two servers, as the real ones
// have: the hub, and the place where large files lie, which only signed addresses lead to.
//
//   const hub = await Hub.start();
//   hub.add("org/repo", "model-Q8_0.gguf", madeUp(100_000, 1));   // or a path of this machine, or text
//   hub.repo("org/repo").gated = "auto";                          // its files want a token of hub.tokens
//   hub.addOllama("library/x", "latest", { model, template: "…", params: { stop: ["x"] } });
//   hub.trouble = ({ place, method, path, range, number }) => ({ kind: "cut", at: 0.3 });   // see hub-files.mjs
//   spawn(…, { env: hub.environment(folder) });
//   hub.requests, hub.sent, hub.strayTokens
//   await hub.stop();
//
// By itself it serves a folder until it is killed: hub.mjs FOLDER, each folder in it as a repository of "local".
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Content, sendContent, spoil } from "./hub-files.mjs";

export { Content, kKinds, madeUp, randomTroubles } from "./hub-files.mjs";

const kLarge = 10 << 10; // bytes; from here on a file is an LFS file

const escaped = (path) => path.split("/").map(encodeURIComponent).join("/");

export class Hub {
  repos = new Map(); // "org/repo" → see repo()
  models = new Map(); // Ollama's: "library/x:tag" → manifest, as text
  blobs = new Map(); // Ollama's: "sha256:…" → Content
  tokens = new Set(["good"]); // that open gated and private repositories
  renamed = new Map(); // "old/name" → "new/name"
  trouble = () => null; // for each request
  page = 1000; // entries of a list
  uses = Infinity; // how often a signed address may be used
  limit = null; // of requests: { left, wait }: then 429
  requests = []; // { place, method, path, range, token }
  strayTokens = []; // that reached the place of the files
  sent = 0; // bytes of files
  signed = new Map();

  static async start() {
    const hub = new Hub();
    const listen = (handler) =>
      new Promise((resolve) => {
        const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
          handler(request, response).catch((error) => {
            // Not of a client that left.
            if (!["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED"].includes(error.code)) hub.failure ??= error;
            response.destroy();
          });
        });
        server.on("connection", (socket) => socket.on("error", () => {}));
        server.listen(0, "127.0.0.1", () => resolve(server));
      });
    hub.servers = await Promise.all([listen((...both) => hub.onHub(...both)), listen((...both) => hub.onFiles(...both))]);
    [hub.url, hub.filesUrl] = hub.servers.map((server) => `http://127.0.0.1:${server.address().port}`);
    return hub;
  }

  async stop() {
    await Promise.all(this.servers.map((server) => new Promise((resolve) => (server.close(resolve), server.closeAllConnections()))));
    if (this.failure) throw this.failure;
  }

  // Variables for a program that is to ask this hub and nobody else, with its cache below the folder.
  environment(folder, more = {}) {
    const none = Object.fromEntries(["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "HF_TOKEN"].map((name) => [name, ""]));
    return { ...process.env, ...none, NO_PROXY: "127.0.0.1", HF_ENDPOINT: this.url, HF_HOME: folder, HF_HUB_CACHE: join(folder, "hub"), ...more };
  }

  // { files: path → Content, gated: false | "auto" | "manual", hidden, license, downloads, likes, refs: name → commit }
  repo(name) {
    if (!this.repos.has(name))
      this.repos.set(name, { name, files: new Map(), gated: false, hidden: false, license: "apache-2.0", downloads: 10, likes: 1, refs: {}, commits: new Map() });
    return this.repos.get(name);
  }
  add(name, path, source) {
    const content = source instanceof Content ? source : new Content(source);
    this.repo(name).files.set(path, content);
    return content;
  }
  // The commit that `main` is now: another one when a file is.
  commit(name) {
    const { files, commits } = this.repo(name);
    const id = createHash("sha1");
    for (const [path, { sha256 }] of [...files].sort()) id.update(`${path} ${sha256}\n`);
    const commit = id.digest("hex");
    if (!commits.has(commit)) commits.set(commit, new Map(files));
    return commit;
  }

  // layers: model, projector, adapter (content); template, system, license (text); params (an object).
  addOllama(name, tag, layers) {
    const blob = (source, mediaType) => {
      const content = source instanceof Content ? source : new Content(source);
      this.blobs.set(`sha256:${content.sha256}`, content);
      return { mediaType, digest: `sha256:${content.sha256}`, size: content.size };
    };
    const list = Object.entries(layers).map(([kind, source]) =>
      blob(kind === "params" ? JSON.stringify(source) : source, `application/vnd.ollama.image.${kind}`),
    );
    const config = blob(JSON.stringify({ model_format: "gguf", model_family: "llama", file_type: "Q8_0" }), "application/vnd.docker.container.image.v1+json");
    const manifest = { schemaVersion: 2, mediaType: "application/vnd.docker.distribution.manifest.v2+json", config, layers: list };
    this.models.set(`${name}:${tag}`, JSON.stringify(manifest));
    return manifest;
  }

  // No address that was given out leads anywhere from now on.
  expire() {
    this.signed.clear();
  }

  note(place, request) {
    const { method, url: path, headers } = request;
    const entry = { place, method, path, range: headers.range ?? null, token: headers.authorization ?? null, number: this.requests.length };
    this.requests.push(entry);
    const trouble = this.trouble(entry);
    return typeof trouble === "string" ? { kind: trouble } : trouble;
  }

  async onHub(request, response) {
    const trouble = this.note("hub", request);
    const url = new URL(request.url, this.url);
    const path = decodeURIComponent(url.pathname);
    if (this.limit && this.limit.left-- <= 0) {
      const headers = { "retry-after": String(this.limit.wait ?? 0), ratelimit: `"api";r=0;t=${this.limit.wait ?? 0}` };
      return void spoil({ kind: "status", status: 429, headers }, request, response);
    }
    if (spoil(trouble, request, response)) return;
    const context = { request, response, url, token: /^Bearer (.*)$/.exec(request.headers.authorization ?? "")?.[1], trouble };
    let found;
    if ((found = /^\/api\/models\/([^/]+\/[^/]+)(?:\/(revision|tree)\/([^/]+|refs\/[^/]+\/[^/]+))?$/.exec(path))) {
      return this.onApi(context, found[1], found[2] ?? "revision", found[3] ?? "main");
    }
    if (path === "/api/models") return this.onSearch(context);
    if ((found = /^\/v2\/([^/]+\/[^/]+)\/manifests\/([^/]+)$/.exec(path))) return this.onManifest(context, found[1], found[2]);
    if ((found = /^\/v2\/([^/]+\/[^/]+)\/blobs\/(sha256:[0-9a-f]{64})$/.exec(path))) return this.onBlob(context, found[2]);
    if ((found = /^\/([^/]+\/[^/]+)\/resolve\/(refs\/[^/]+\/[^/]+|[^/]+)\/(.+)$/.exec(path))) return this.onResolve(context, ...found.slice(1));
    return this.refuse(context, 404, "", "no such page");
  }

  refuse({ response }, status, code, message) {
    const headers = { "content-type": "application/json", ...(code && { "x-error-code": code }), "x-error-message": message };
    response.writeHead(status, headers).end(JSON.stringify({ error: message }));
  }
  // The answer as JSON; part of it where the trouble says so.
  async answer({ request, response, trouble }, value, fields = {}) {
    const content = new Content(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));
    const plain = { method: request.method, url: request.url, headers: {} }; // lists have no ranges
    await sendContent(content, plain, response, { trouble, fields: { "content-type": "application/json", ...fields } });
  }

  // Whether it was refused.
  refusedAt(context, name, files) {
    const repo = this.repos.get(name);
    const known = context.token !== undefined && this.tokens.has(context.token);
    if (context.token !== undefined && !known && context.token !== "poor") {
      this.refuse(context, 401, "", "Invalid credentials in Authorization header");
      return true;
    }
    if (!repo || (repo.hidden && !known)) {
      this.refuse(context, context.token === undefined ? 401 : 404, "RepoNotFound", "Repository not found");
      return true;
    }
    if (files && repo.gated && !known) {
      this.refuse(context, context.token === undefined ? 401 : 403, "GatedRepo", `Access to model ${name} is restricted.`);
      return true;
    }
    return false;
  }
  commitOf(name, revision) {
    const current = this.commit(name);
    if (revision === "main" || revision === current) return current;
    const { refs, commits } = this.repo(name);
    return refs[revision] ?? (commits.has(revision) ? revision : undefined);
  }

  async onApi(context, asked, what, revision) {
    const name = this.renamed.get(asked);
    if (name) {
      const location = context.request.url.replace(asked, name);
      context.response.writeHead(307, { location, "content-length": 0 }).end();
      return;
    }
    if (this.refusedAt(context, asked, false)) return;
    const commit = this.commitOf(asked, revision);
    if (!commit) return this.refuse(context, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    const repo = this.repo(asked);
    const files = [...repo.commits.get(commit)];
    if (what === "revision") {
      const { gated, hidden, license, downloads, likes } = repo;
      const siblings = files.map(([rfilename]) => ({ rfilename }));
      return this.answer(context, { id: asked, sha: commit, gated, private: hidden, downloads, likes, cardData: { license }, siblings });
    }
    const at = Number(context.url.searchParams.get("cursor") ?? 0);
    const entries = files.slice(at, at + this.page).map(([path, content]) => {
      const plain = { type: "file", path, size: content.size, oid: content.git };
      return content.size < kLarge ? plain : { ...plain, lfs: { oid: content.sha256, size: content.size, pointerSize: 135 }, xetHash: content.sha256 };
    });
    const folders = [...new Set(files.map(([path]) => path.split("/").slice(0, -1).join("/")).filter(Boolean))];
    if (at === 0) entries.push(...folders.map((path) => ({ type: "directory", path, size: 0, oid: "0".repeat(40) })));
    const next = new URL(context.url);
    next.searchParams.set("cursor", at + this.page);
    return this.answer(context, entries, at + this.page < files.length ? { link: `<${next}>; rel="next"` } : {});
  }

  onSearch(context) {
    const words = (context.url.searchParams.get("search") ?? "").toLowerCase();
    const most = Number(context.url.searchParams.get("limit") ?? 1000);
    const found = [...this.repos.values()].filter(({ name, hidden }) => !hidden && name.toLowerCase().includes(words));
    found.sort((a, b) => b.downloads - a.downloads);
    const tags = ["gguf"];
    return this.answer(context, found.slice(0, most).map(({ name, downloads, likes, gated }) => ({ id: name, modelId: name, downloads, likes, gated, tags })));
  }

  // Small files come at once, large ones by an address that is signed.
  async onResolve(context, asked, revision, path) {
    const name = this.renamed.get(asked);
    if (name) {
      const location = context.request.url.replace(asked, name);
      context.response.writeHead(307, { location, "content-length": 0 }).end();
      return;
    }
    if (this.refusedAt(context, asked, true)) return;
    const commit = this.commitOf(asked, revision);
    if (!commit) return this.refuse(context, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    const content = this.repo(asked).commits.get(commit).get(path);
    if (!content) return this.refuse(context, 404, "EntryNotFound", "Entry not found");
    const fields = { "x-repo-commit": commit };
    if (content.size < kLarge) return this.send(context, content, { ...fields, etag: `"${content.git}"` });
    const linked = { "x-linked-size": String(content.size), "x-linked-etag": `"${content.sha256}"`, "x-xet-hash": content.sha256 };
    return this.leadTo(context, content, path, { ...fields, ...linked, etag: `"${content.sha256}"` });
  }
  onManifest(context, name, tag) {
    const manifest = this.models.get(`${name}:${tag}`);
    if (!manifest) return this.answer404(context, "MANIFEST_UNKNOWN", "manifest unknown");
    return this.answer(context, manifest, { "content-type": "application/vnd.docker.distribution.manifest.v2+json" });
  }
  onBlob(context, digest) {
    const content = this.blobs.get(digest);
    if (!content) return this.answer404(context, "BLOB_UNKNOWN", "blob unknown to registry");
    return this.leadTo(context, content, digest.slice(7), {}, 307);
  }
  answer404({ response }, code, message) {
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ errors: [{ code, message }] }));
  }

  send({ request, response, trouble }, content, fields) {
    return sendContent(content, request, response, { trouble, fields, onBytes: (count) => (this.sent += count) });
  }
  leadTo({ response }, content, path, fields, status = 302) {
    const signature = randomBytes(12).toString("hex");
    this.signed.set(signature, { content, left: this.uses });
    const location = `${this.filesUrl}/${escaped(path)}?Expires=1&Signature=${signature}`;
    const body = "over there";
    response.writeHead(status, { ...fields, location, "content-length": body.length }).end(body);
  }

  async onFiles(request, response) {
    const trouble = this.note("files", request);
    if (request.headers.authorization) this.strayTokens.push(request.headers.authorization);
    const entry = this.signed.get(new URL(request.url, this.filesUrl).searchParams.get("Signature"));
    if (!entry || entry.left-- <= 0) return void spoil({ kind: "status", status: 403, body: "Request has expired" }, request, response);
    await this.send({ request, response, trouble }, entry.content, { etag: `"${entry.content.sha256}"` });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const hub = await Hub.start();
  const root = process.argv[2];
  const filesOf = (folder) => readdirSync(folder, { recursive: true }).map((path) => join(folder, path)).filter((path) => statSync(path).isFile());
  for (const name of readdirSync(root))
    if (statSync(join(root, name)).isDirectory()) filesOf(join(root, name)).forEach((path) => hub.add(`local/${name}`, relative(join(root, name), path), path));
  console.log(hub.url);
}
