// Vulkan without a GPU: Mesa's driver that computes on the CPU (lavapipe, package mesa-vulkan-drivers).
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const kFolder = "/usr/share/vulkan/icd.d";

// The driver's description in the system at `root`, or undefined if it is not installed. Its name differs between versions of Mesa.
export function cpuDriver(root = "/") {
  const folder = join(root, kFolder);
  const name = existsSync(folder) ? readdirSync(folder).find((file) => /^lvp_icd.*\.json$/.test(file)) : undefined;
  return name && join(kFolder, name);
}

// Variables of a server that computes with this driver only. ggml leaves devices of the type CPU out unless they are named by number, and
// llama.cpp's own tests on this driver leave out the same two features.
export const environmentOf = (driver) => ({ VK_DRIVER_FILES: driver, VK_ICD_FILENAMES: driver, GGML_VK_VISIBLE_DEVICES: "0", GGML_VK_DISABLE_F16: "1", GGML_VK_DISABLE_COOPMAT: "1" });

// The same greedy text of each model on the CPU and with Vulkan, and the device in health. `ask(method, path, body)` resolves to
// {status, body}.
export async function computesTheSame(ask, models, tokens = 32) {
  const post = async (path, body) => {
    const { status, body: answer } = await ask("POST", path, body);
    assert.equal(status, 200, JSON.stringify(answer));
    return answer;
  };
  for (const model of models) {
    const texts = {};
    for (const backend of ["cpu", "vulkan"]) {
      await post("/v1/load", { model_name: model, llamacpp_backend: backend });
      const { all_models_loaded: all } = (await ask("GET", "/v1/health")).body;
      const { device, memory } = all.find((entry) => entry.model_name === model);
      assert.equal(device, backend === "cpu" ? "cpu" : "gpu");
      assert.equal(memory.devices.some((used) => used.device === "vulkan0" && used.weights > 0), backend === "vulkan", JSON.stringify(memory));
      const answer = await post("/v1/completions", { model, prompt: "The horses are", max_tokens: tokens, temperature: 0, ignore_eos: true });
      assert.equal(answer.usage.completion_tokens, tokens);
      texts[backend] = answer.choices[0].text;
    }
    assert.equal(texts.vulkan, texts.cpu, model);
  }
}
