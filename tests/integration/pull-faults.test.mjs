// Downloads against a hub that does wrong at random, by seed: real bytes through real connections. A download ends with the
// right files and nothing else, or with a reason, nothing under a name, and goes on from there the next time.
//
//   CORRAL_PULL_DOWNLOADS=200 CORRAL_PULL_SEED=7 CORRAL_PULL_KILLS=50   as script/nightly has it
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Hub, madeUp, randomTroubles } from "../support/hub.mjs";
import { Pulls } from "../support/pulls.mjs";
import { randomFrom } from "../support/random.mjs";

const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const kDownloads = number("CORRAL_PULL_DOWNLOADS", 24);
const kKills = number("CORRAL_PULL_KILLS", 12);
const kSeed = number("CORRAL_PULL_SEED", 16);
const kRepo = "org/repo";

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

async function startHub(context) {
  const hub = await Hub.start();
  context.after(() => hub.stop());
  return hub;
}
function startPulls(context, hub, folder) {
  const pulls = new Pulls(hub, folder);
  context.after(() => pulls.clear());
  return pulls;
}
const wanted = (hub) => Object.fromEntries([...hub.repo(kRepo).files].map(([path, { sha256 }]) => [path, sha256]));

// Other files in the repository: one, a model with its projector and a text, or a split set.
function refill(hub, random, name) {
  hub.repos.clear();
  const size = 40_000 + random.below(260_000);
  const seed = `${kSeed} ${name}`;
  if (random.chance(0.3)) {
    for (let part = 1; part <= 3; ++part) hub.add(kRepo, `m-Q8_0-0000${part}-of-00003.gguf`, madeUp(size >> 1, `${seed} ${part}`));
  } else {
    hub.add(kRepo, "m-Q8_0.gguf", madeUp(size, seed));
    if (random.chance(0.4)) hub.add(kRepo, "mmproj-m-f16.gguf", madeUp(30_000, `${seed} projector`));
    if (random.chance(0.4)) hub.add(kRepo, "README.md", `# ${seed}`);
  }
}

test(`${kDownloads} downloads among faults leave right files and nothing else`, { timeout: 1_500_000 }, async (context) => {
  const hub = await startHub(context);
  const random = randomFrom(kSeed);
  const counts = {};
  const draw = randomTroubles(kSeed + 1, { share: 0.3 });
  const also = randomFrom(kSeed + 2);
  const ofTheHub = ["status", "hang-up", "garbage", "page"];
  let failures = 0;
  let rounds = 0;
  for (let i = 0; i < kDownloads; ++i) {
    const pulls = startPulls(context, hub);
    refill(hub, random, i);
    hub.uses = random.pick([1, 2, Infinity]);
    hub.trouble = ({ place, path }) => {
      const trouble = draw();
      const fits = place === "files" || ofTheHub.includes(trouble?.kind) || (trouble?.kind === "cut" && path.startsWith("/api/"));
      if (!trouble || !fits || (place === "hub" && also.chance(0.5))) return null;
      counts[trouble.kind] = (counts[trouble.kind] ?? 0) + 1;
      return trouble;
    };
    // What fails says why, leaves nothing under a name, and goes on when it is begun again.
    let pull;
    for (let tries = 0; tries < 40; ++tries) {
      ++rounds;
      pull = await pulls.run();
      if (pull.code === 0) break;
      ++failures;
      assert.equal(pull.code, 1, `it ends by itself: ${pull.signal} ${pull.errors}`);
      assert.deepEqual(pulls.files(), {}, "nothing has a name");
      assert.ok(pull.errors.length > 20, pull.errors);
    }
    assert.equal(pull.code, 0, `download ${i}: ${pull.errors}`);
    assert.deepEqual(pulls.files(), wanted(hub), `download ${i}`);
    assert.deepEqual(pulls.leftovers(), []);
    pulls.clear();
  }
  const faults = Object.values(counts).reduce((sum, count) => sum + count, 0);
  context.diagnostic(`${faults} faults, ${rounds} runs, ${failures} of them ended with a reason: ${JSON.stringify(counts)}`);
  assert.ok(faults >= kDownloads * 3, `${faults} faults`);
});

test("wrong bytes never get a name", async (context) => {
  const hub = await startHub(context);
  const random = randomFrom(kSeed + 3);
  for (let i = 0; i < 6; ++i) {
    const pulls = startPulls(context, hub);
    refill(hub, random, `wrong ${i}`);
    let left = i; // answers with a wrong byte
    hub.trouble = ({ place }) => (place === "files" && left-- > 0 ? { kind: "wrong-bytes", at: random.below(1000) / 1000 } : null);
    const pull = await pulls.run();
    if (pull.code === 0) {
      assert.deepEqual(pulls.files(), wanted(hub));
    } else {
      assert.match(pull.errors, /had wrong contents/);
      assert.deepEqual(pulls.files(), {});
    }
  }
  const pulls = startPulls(context, hub);
  refill(hub, random, "always wrong");
  hub.trouble = ({ place }) => (place === "files" ? "wrong-bytes" : null);
  const pull = await pulls.run();
  assert.equal(pull.code, 1);
  assert.match(pull.errors, /had wrong contents/);
  hub.trouble = () => null;
  assert.equal((await pulls.run()).code, 0, "nothing stands in the way of the next one");
  assert.deepEqual(pulls.files(), wanted(hub));
});

test(`killed at ${kKills} moments it goes on`, { timeout: 600_000 }, async (context) => {
  const hub = await startHub(context);
  const random = randomFrom(kSeed + 4);
  const kSize = 1_000_000;
  let kills = 0;
  let again = 0;
  let files = 0;
  while (kills < kKills) {
    const pulls = startPulls(context, hub);
    hub.repos.clear();
    hub.add(kRepo, "m-Q8_0.gguf", madeUp(kSize, `${kSeed} kill ${files++}`));
    const before = hub.sent;
    for (let ended = false; !ended;) {
      const child = pulls.start();
      const limit = hub.sent + random.below(400_000);
      while (child.exitCode === null && hub.sent < limit) await sleep(1);
      await sleep(random.below(3));
      if (kills < kKills) child.kill("SIGKILL");
      const end = await child.ended;
      if (end.signal === "SIGKILL") {
        ++kills;
        const found = pulls.files();
        if (Object.keys(found).length > 0) assert.deepEqual(found, wanted(hub), "what has a name is whole");
      } else {
        assert.equal(end.code, 0, end.errors);
        ended = true;
      }
    }
    again += hub.sent - before - kSize;
    assert.deepEqual(pulls.files(), wanted(hub));
    assert.deepEqual(pulls.leftovers(), []);
  }
  context.diagnostic(`${kills} kills, ${files} files, ${Math.round(again / kills)} bytes came again for each`);
});

test("processes that fetch the same share one cache", async (context) => {
  const hub = await startHub(context);
  const pulls = startPulls(context, hub);
  for (const part of [1, 2]) hub.add(kRepo, `m-Q8_0-0000${part}-of-00002.gguf`, madeUp(250_000, `two ${part}`));
  const draw = randomTroubles(kSeed + 5, { share: 0.2, kinds: ["cut", "reset", "slow"] });
  hub.trouble = ({ place }) => (place === "files" ? draw() : null);
  for (const child of [1, 2, 3].map(() => pulls.start())) {
    const end = await child.ended;
    assert.equal(end.code, 0, end.errors);
  }
  assert.deepEqual(pulls.files(), wanted(hub));
  assert.deepEqual(pulls.leftovers(), []);
});

// What other tools of the hub do, by what is known of them: a lock on .locks/REPO/HASH.lock, bytes into a name of their own
// below blobs (HASH.RANDOM.incomplete), a rename to HASH when they are all there, then the link.
const kOther = `
import fcntl, hashlib, os, sys, time, urllib.request, uuid
endpoint, cache, repo, commit, path, oid, mode = sys.argv[1:]
root = os.path.join(cache, "models--" + repo.replace("/", "--"))
locks = os.path.join(cache, ".locks", "models--" + repo.replace("/", "--"))
for folder in (locks, os.path.join(root, "blobs"), os.path.join(root, "refs"), os.path.dirname(os.path.join(root, "snapshots", commit, path))):
    os.makedirs(folder, exist_ok=True)
blob = os.path.join(root, "blobs", oid)
lock = os.open(os.path.join(locks, oid + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
if mode != "no-locks":
    fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
fetched = 0
if not os.path.exists(blob):
    if mode == "wait":
        sys.stdin.readline()
    part = blob + "." + uuid.uuid4().hex[:8] + ".incomplete"
    with open(part, "wb") as out, urllib.request.urlopen(endpoint + "/" + repo + "/resolve/" + commit + "/" + path) as answer:
        while piece := answer.read(16384):
            out.write(piece)
            fetched += len(piece)
    os.replace(part, blob)
pointer = os.path.join(root, "snapshots", commit, path)
if not os.path.lexists(pointer):
    try:
        os.symlink(os.path.relpath(blob, os.path.dirname(pointer)), pointer)
    except FileExistsError:
        pass
with open(os.path.join(root, "refs", "main"), "w") as ref:
    ref.write(commit)
os.close(lock)
assert hashlib.sha256(open(pointer, "rb").read()).hexdigest() == oid
print("fetched", fetched, flush=True)
`;

test("a program of another kind and this one share one cache", async (context) => {
  const hub = await startHub(context);
  const other = (pulls, mode) => {
    const script = join(pulls.folder, "other.py");
    writeFileSync(script, kOther);
    const { sha256 } = hub.repo(kRepo).files.get("m-Q8_0.gguf");
    const child = spawn("python3", [script, hub.url, pulls.cache, kRepo, hub.commit(kRepo), "m-Q8_0.gguf", sha256, mode], {
      stdio: ["pipe", "pipe", "inherit"],
      env: hub.environment(pulls.folder),
    });
    context.after(() => child.kill("SIGKILL"));
    child.locked = once(child.stdout, "data");
    child.ended = new Promise((resolve) => child.once("close", (code) => resolve(code)));
    return child;
  };
  // The other one was first: this one waits, and fetches nothing.
  let pulls = startPulls(context, hub);
  hub.add(kRepo, "m-Q8_0.gguf", madeUp(200_000, "first"));
  const first = other(pulls, "wait");
  await first.locked;
  const pull = pulls.start();
  while (!hub.requests.some(({ path }) => path.includes("/tree/"))) await sleep(1);
  first.stdin.write("\n");
  assert.equal(await first.ended, 0);
  assert.equal((await pull.ended).code, 0);
  assert.equal(hub.sent, 200_000, "it came once");
  assert.deepEqual(pulls.files(), wanted(hub));

  // At any moment, with locks and without: both have the right file.
  for (let i = 0; i < 8; ++i) {
    pulls = startPulls(context, hub);
    hub.repos.clear();
    hub.add(kRepo, "m-Q8_0.gguf", madeUp(200_000, `both ${i}`));
    const theirs = other(pulls, i % 2 === 0 ? "locks" : "no-locks");
    const ours = await pulls.run();
    assert.equal(await theirs.ended, 0);
    assert.equal(ours.code, 0, ours.errors);
    assert.deepEqual(pulls.files(), wanted(hub));
    assert.deepEqual(pulls.leftovers(), []);
  }
});

// A disk of some KiB that only one child sees.
const mounted = (size, command) => ["unshare", ["-rm", "sh", "-c", `mount -t tmpfs -o size=${size} none "$0" && ${command}`]];
const missing = (() => {
  const folder = mkdtempSync(join(tmpdir(), "corral-disk-"));
  const [program, args] = mounted("100k", "true");
  const done = spawnSync(program, [...args, folder]);
  rmSync(folder, { recursive: true, force: true });
  return done.status === 0 ? false : `no rights to mount a small disk here: ${String(done.stderr ?? done.error).trim()}`;
})();

test("a disk that is too small, or fills up, is said and left as it was", { skip: missing }, async (context) => {
  const hub = await startHub(context);
  const folder = mkdtempSync(join(tmpdir(), "corral-disk-"));
  const pulls = startPulls(context, hub, folder);
  hub.add(kRepo, "m-Q8_0.gguf", madeUp(250_000, "disk"));
  // Somebody else has most of it; then there is room again.
  const script = `
    head -c 300000 /dev/zero > "$0/others"
    "${pulls.program}" "${hub.url}" "$0/hub"; echo "full $?"; find "$0/hub" -name '*.corral-part*' | wc -l
    rm "$0/others"
    "${pulls.program}" "${hub.url}" "$0/hub"; echo "room $?"; find "$0/hub" -name '*.corral-part*' | wc -l
    sha256sum < "$0/hub/models--org--repo/snapshots/${hub.commit(kRepo)}/m-Q8_0.gguf"`;
  const [program, args] = mounted("400k", `{ ${script}\n }`);
  const child = spawn(program, [...args, folder], { env: hub.environment(folder), stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (bytes) => (output += bytes));
  child.stderr.on("data", (bytes) => (errors += bytes));
  await once(child, "close");
  assert.equal(output, `disk_full\nfull 1\n0\nroom 0\n0\n${wanted(hub)["m-Q8_0.gguf"]}  -\n`, errors);
  assert.match(errors, /not enough disk space for 'org\/repo': .* to download and .* to keep free, but .* free\. Free some space/);
});
