// How sd-server of stable-diffusion.cpp reads requests for images: what counts, what is refused, and what has no effect.

export class Refused extends Error {}

const kSmallestStep = 64; // of sides, with a model of Stable Diffusion 1 or 2
const whole = (side) => Math.ceil(side / kSmallestStep) * kSmallestStep;
const bounded = (value, least, most) => Math.min(Math.max(value, least), most);

// The parameters of the first tag; all tags are removed. A tag of several lines is none.
function taken(prompt) {
  const tag = /<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>/;
  const found = prompt.match(tag);
  let extra = {};
  try {
    if (found) extra = JSON.parse(found[1]);
  } catch {
    throw new Refused("invalid sd_cpp_extra_args");
  }
  return { prompt: prompt.replaceAll(new RegExp(tag, "g"), ""), extra };
}

// Of a png in colours; it leaves out images that it can't read, and those of shades of grey.
function size_of(image) {
  if (image.length < 26 || image.readUInt32BE(0) !== 0x89504e47 || image[25] === 0 || image[25] === 4) return undefined;
  return [image.readUInt32BE(16), image.readUInt32BE(20)];
}

function read(path, fields, images, mask, words) {
  const word = (name) => (words.includes(name) ? Number(words[words.indexOf(name) + 1]) : undefined);
  const is_edit = path.endsWith("/edits");
  if (!fields.prompt) throw new Refused("prompt required");
  if (is_edit && images.length === 0) throw new Refused("at least one image[] required");
  const format = (fields.output_format ?? "png").toLowerCase();
  const formats = is_edit ? ["png", "jpeg"] : ["png", "jpeg", "webp"];
  if (!formats.includes(format)) throw new Refused(`invalid output_format, must be one of [${formats.join(", ")}]`);
  const { prompt, extra } = taken(fields.prompt);
  const sizes = images.map(size_of);
  const usual = (is_edit && sizes.find((size) => size)) || (is_edit ? [512, 512] : [word("-W") ?? 512, word("-H") ?? 512]);
  const [width, height] = fields.size ? fields.size.split("x").map(Number) : usual;
  const steps = bounded(extra.sample_params?.sample_steps ?? word("--steps") ?? 20, 1, 100);
  const asked = extra.seed ?? word("--seed") ?? 42;
  const seed = asked < 0 ? Math.floor(Date.now() / 1000) : asked; // all of one second are the same
  const files = { read: sizes.filter((size) => size).length, unread: sizes.filter((size) => !size).length, mask: mask !== undefined };
  return { path, sent: Object.keys(fields), prompt, extra, seed, steps, files, format, n: bounded(Number(fields.n ?? 1), 1, 8), width: whole(width), height: whole(height) };
}

// `body`: JSON, or a form. Throws Refused, with the message of the program, or another error.
export async function asked_by(request, body, words) {
  if (request.url === "/v1/images/generations") return read(request.url, JSON.parse(body.toString()), [], undefined, words);
  const form = await new Response(body, { headers: { "content-type": request.headers["content-type"] } }).formData();
  const fields = {};
  const files = { "image[]": [], image: [], mask: [] };
  for (const [name, value] of form) {
    if (typeof value === "string") fields[name] = value;
    else files[name]?.push(Buffer.from(await value.arrayBuffer()));
  }
  const images = files["image[]"].length > 0 ? files["image[]"] : files.image;
  return read(request.url, fields, images, files.mask[0], words);
}
