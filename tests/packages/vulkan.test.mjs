// The Vulkan module of script/package on this machine, with Mesa's driver for the CPU; skipped without one of the two.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { computesTheSame, cpuDriver, environmentOf } from "../support/vulkan.mjs";

const packaged = process.env.CORRAL_PACKAGED ?? join(import.meta.dirname, "../../build/package/bin/corral");
if (existsSync(packaged)) process.env.CORRAL_PROGRAM = packaged;  // read by support/server.mjs
const { Server } = await import("../support/server.mjs");

const driver = cpuDriver();
const skip = !driver ? "mesa-vulkan-drivers is not installed" : !existsSync(join(packaged, "../../lib/corral/libggml-vulkan.so")) ? `no Vulkan module beside ${packaged}: run script/package` : false;

describe("Vulkan", { skip }, () => {
  const environment = environmentOf(driver);
  let server;
  before(async () => {
    server = await Server.launch({ environment });
  });
  after(() => server?.stop());
  const corral = (...words) => execFileSync(packaged, [...words, "--url", server.url], { encoding: "utf8", env: { ...process.env, ...environment } });

  test("greedy text is that of the CPU, and health names the device", () => computesTheSame((method, path, body) => server.json(method, path, body), ["scripted-hello", "tiny-llama"]));

  test("ps and doctor name the device", async () => {
    assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", llamacpp_backend: "vulkan" })).status, 200);
    assert.match(corral("ps"), /tiny-llama .*\bgpu\b/);
    let report;
    try {
      report = corral("doctor", "--json");
    } catch (failed) {  // exit code 1: another check failed
      report = failed.stdout;
    }
    const devices = JSON.parse(report).checks.find((check) => check.topic === "devices");
    assert.match(devices.text, /Vulkan0 \(llvmpipe/);
  });
});
