// Files in the shape of Stable Diffusion 1 with a narrow UNet, for the real sd-server: all weights are 0 (holes of a file
// of 270 MB, which take no disk), but those of the tiny autoencoder are random. So images are noise that only the seed,
// the size, and a given image decide.
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { randomFrom } from "./random.mjs";

class Tensors {
  shapes = {};
  bytes = 0;
  add(name, ...shape) {
    const end = this.bytes + 2 * shape.reduce((product, side) => product * side, 1);
    this.shapes[name] = { dtype: "F16", shape, data_offsets: [this.bytes, end] };
    this.bytes = end;
  }
  // `sides`: outputs, inputs, and the sides of a convolution.
  layer(name, bias, ...sides) {
    this.add(`${name}.weight`, ...sides);
    if (bias) this.add(`${name}.bias`, sides[0]);
  }
  linear(name, from, to, bias = true) {
    this.layer(name, bias, to, from);
  }
  conv(name, from, to, side = 3, bias = true) {
    this.layer(name, bias, to, from, side, side);
  }
  norm(name, size) {
    this.layer(name, true, size);
  }
  // `data`: undefined leaves a hole.
  write(path, data) {
    const text = Buffer.from(JSON.stringify(this.shapes));
    const head = Buffer.alloc(8 + Math.ceil(text.length / 8) * 8, " ");
    head.writeBigUInt64LE(BigInt(head.length - 8));
    text.copy(head, 8);
    const file = openSync(path, "w");
    writeSync(file, head);
    if (data) writeSync(file, data);
    ftruncateSync(file, head.length + this.bytes);
    closeSync(file);
    return path;
  }
}

function text_encoder(out) {
  const model = "cond_stage_model.transformer.text_model";
  out.add(`${model}.embeddings.token_embedding.weight`, 49408, 768);
  out.add(`${model}.embeddings.position_embedding.weight`, 77, 768);
  for (let i = 0; i < 12; ++i) {
    const layer = `${model}.encoder.layers.${i}`;
    for (const name of ["q_proj", "k_proj", "v_proj", "out_proj"]) out.linear(`${layer}.self_attn.${name}`, 768, 768);
    for (const name of ["layer_norm1", "layer_norm2"]) out.norm(`${layer}.${name}`, 768);
    out.linear(`${layer}.mlp.fc1`, 768, 3072);
    out.linear(`${layer}.mlp.fc2`, 3072, 768);
  }
  out.norm(`${model}.final_layer_norm`, 768);
}

function attention(out, name, size) {
  const block = `${name}.transformer_blocks.0`;
  out.norm(`${name}.norm`, size);
  for (const side of ["proj_in", "proj_out"]) out.conv(`${name}.${side}`, size, size, 1);
  for (const [part, context] of [["attn1", size], ["attn2", 768]]) {
    out.linear(`${block}.${part}.to_q`, size, size, false);
    for (const side of ["to_k", "to_v"]) out.linear(`${block}.${part}.${side}`, context, size, false);
    out.linear(`${block}.${part}.to_out.0`, size, size);
  }
  out.linear(`${block}.ff.net.0.proj`, size, size * 8);
  out.linear(`${block}.ff.net.2`, size * 4, size);
  for (const number of [1, 2, 3]) out.norm(`${block}.norm${number}`, size);
}

function unet(out, width = 32) {
  const model = "model.diffusion_model";
  const time = width * 4;
  const block = (name, from, to) => {
    out.norm(`${name}.in_layers.0`, from);
    out.conv(`${name}.in_layers.2`, from, to);
    out.linear(`${name}.emb_layers.1`, time, to);
    out.norm(`${name}.out_layers.0`, to);
    out.conv(`${name}.out_layers.3`, to, to);
    if (from !== to) out.conv(`${name}.skip_connection`, from, to, 1);
  };
  out.linear(`${model}.time_embed.0`, width, time);
  out.linear(`${model}.time_embed.2`, time, time);
  out.conv(`${model}.input_blocks.0.0`, 4, width);
  const levels = [1, 2, 4, 4].map((factor) => factor * width);
  const outputs = [width];
  let size = width;
  levels.forEach((to, level) => {
    for (let i = 0; i < 2; ++i) {
      const name = `${model}.input_blocks.${outputs.length}`;
      block(`${name}.0`, size, to);
      size = to;
      if (level < 3) attention(out, `${name}.1`, size);
      outputs.push(size);
    }
    if (level === 3) return;
    out.conv(`${model}.input_blocks.${outputs.length}.0.op`, size, size);
    outputs.push(size);
  });
  block(`${model}.middle_block.0`, size, size);
  attention(out, `${model}.middle_block.1`, size);
  block(`${model}.middle_block.2`, size, size);
  for (let i = 0; i < 12; ++i) {
    const level = 3 - Math.floor(i / 3);
    const name = `${model}.output_blocks.${i}`;
    block(`${name}.0`, size + outputs.pop(), levels[level]);
    size = levels[level];
    if (level < 3) attention(out, `${name}.1`, size);
    if (level > 0 && i % 3 === 2) out.conv(`${name}.${level < 3 ? 2 : 1}.conv`, size, size);
  }
  out.norm(`${model}.out.0`, size);
  out.conv(`${model}.out.2`, size, 4);
}

function autoencoder(out) {
  const block = (name) => [0, 2, 4].forEach((number) => out.conv(`${name}.conv.${number}`, 64, 64));
  const blocks = (name, from) => [0, 1, 2].forEach((number) => block(`${name}.${from + number}`));
  out.conv("encoder.layers.0", 3, 64);
  block("encoder.layers.1");
  for (const at of [2, 6, 10]) {
    out.conv(`encoder.layers.${at}`, 64, 64, 3, false);
    blocks("encoder.layers", at + 1);
  }
  out.conv("encoder.layers.14", 64, 4);
  out.conv("decoder.layers.0", 4, 64);
  for (const at of [2, 7, 12]) {
    blocks("decoder.layers", at);
    out.conv(`decoder.layers.${at + 4}`, 64, 64, 3, false);
  }
  block("decoder.layers.17");
  out.conv("decoder.layers.18", 64, 3);
}

// Two files in `folder`: `main`, and the `taesd` of it.
export function tiny_sd(folder) {
  const main = new Tensors();
  text_encoder(main);
  unet(main);
  const taesd = new Tensors();
  autoencoder(taesd);
  const weights = Buffer.alloc(taesd.bytes);
  const random = randomFrom(1);
  // Half floats between 2^-5 and 2^-4, with either sign.
  for (let at = 0; at < weights.length; at += 2) weights.writeUInt16LE(0x2800 | random.below(0x400) | (random.chance(0.5) ? 0x8000 : 0), at);
  return { main: main.write(join(folder, "tiny-sd.safetensors")), taesd: taesd.write(join(folder, "tiny-taesd.safetensors"), weights) };
}
