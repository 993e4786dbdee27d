// Makes a lab with a process in it, says where, and waits to be killed: see tests/mesh/harness.test.mjs.
import { Lab } from "./netns.mjs";

const lab = await Lab.start(["a", "b"]);
const child = lab.spawn("a", "sleep", ["1000"], { stdio: "ignore" });
while (!lab.inhabitants("a").some(({ command }) => command === "sleep 1000")) await new Promise((resolve) => setTimeout(resolve, 5));
console.log(JSON.stringify({ pids: [lab.net.child.pid, child.pid], space: lab.nodes.get("a").space }));
setInterval(() => {}, 1000);
