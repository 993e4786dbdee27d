// A QR code as a path of SVG, of modules of size 1. Its code is loaded when the first one is shown.
export interface Qr {
  size: number; // modules on each side, without the quiet zone
  path: string;
}

export async function qrOf(text: string): Promise<Qr> {
  const { default: qrcode } = await import("qrcode-generator");
  const code = qrcode(0, "L"); // read from a screen: nothing damages it, and larger modules are easier to read
  code.addData(text, "Byte");
  code.make();
  const size = code.getModuleCount();
  let path = "";
  for (let row = 0; row < size; row += 1) {
    for (let from = 0; from < size; ) {
      let to = from;
      while (to < size && code.isDark(row, to)) to += 1;
      if (to > from) path += `M${from} ${row}h${to - from}v1h-${to - from}z`;
      from = to + 1;
    }
  }
  return { size, path };
}
