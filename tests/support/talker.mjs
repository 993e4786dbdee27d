// A program that talks to others of its kind, for tests of the network between them: does what lines of JSON on standard
// input say and answers each with one line. See talker() in tests/mesh/harness.test.mjs.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";

const kPort = 7000;
const heard = {}; // datagrams, by the sender's address
const connections = {}; // kept, by the other's address

const echo = createServer((connection) => connection.on("error", () => {}).setNoDelay(true).pipe(connection)).listen(kPort);
const datagrams = createSocket({ type: "udp4", recvBufferSize: 1 << 22 }).bind(kPort);
datagrams.on("message", (_, { address }) => (heard[address] = (heard[address] ?? 0) + 1));
await Promise.all([once(echo, "listening"), once(datagrams, "listening")]);

const open = async (to) => {
  const connection = connect(kPort, to).setNoDelay(true);
  await once(connection, "connect");
  return connection.on("error", () => {});
};
const echoed = async (connection, text) => {
  connection.write(text);
  for (let got = ""; got.length < text.length; ) got += (await once(connection, "data"))[0];
};

const kDeeds = {
  // Milliseconds of each round trip.
  async ping({ to, count }) {
    const connection = await open(to);
    const times = [];
    for (let i = 0; i < count; ++i) {
      const begin = process.hrtime.bigint();
      await echoed(connection, "x");
      times.push(Number(process.hrtime.bigint() - begin) / 1e6);
    }
    connection.destroy();
    return times;
  },
  async dial({ to, ms }) {
    const connection = connect(kPort, to);
    const end = await Promise.race([once(connection, "connect").then(() => "connected"), once(connection, "error").then(([error]) => error.code), new Promise((resolve) => setTimeout(resolve, ms, "nothing"))]).catch((error) => error.code);
    connection.on("error", () => {}).destroy();
    return end;
  },
  async keep({ to }) {
    connections[to] = await open(to);
  },
  // On the kept connection, there and back.
  say: ({ to, text }) => echoed(connections[to], text),
  async shout({ to, count }) {
    for (let i = 0; i < count; ++i) await new Promise((resolve) => datagrams.send("x", kPort, to, resolve));
  },
  heard: ({ of }) => heard[of] ?? 0,
};

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const order = JSON.parse(line);
    const answer = await kDeeds[order.deed](order);
    process.stdout.write(JSON.stringify({ number: order.number, answer: answer ?? null }) + "\n");
  })
  .on("close", () => process.exit(0));
process.stdout.write("ready\n");
