// ANSI sequences in a line of a log: colours become names of classes, all others disappear. Pure.

export interface Piece {
  text: string;
  colour: string; // "": that of the text
  bold: boolean;
}

const kColours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

// The server replaces control characters in the output of processes, also ESC, by U+FFFD.
const kSequence = /[\x1b\ufffd](?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b\ufffd]*(?:\x07|\x1b\\|\ufffd\\?))/g;

interface Style {
  colour: string;
  bold: boolean;
}

function apply(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number);
  let { colour, bold } = style;
  for (let i = 0; i < codes.length; ++i) {
    const code = codes[i]!;
    if (code === 0) [colour, bold] = ["", false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code === 39) colour = "";
    else if (code >= 30 && code <= 37) colour = kColours[code - 30]!;
    else if (code >= 90 && code <= 97) colour = kColours[code - 90]!;
    else if (code === 38 || code === 48) {
      // Of 256 colours only the first 16 have names; of all other ones the text keeps its own.
      const named = codes[i + 1] === 5 ? codes[i + 2] : undefined;
      if (code === 38) colour = named !== undefined && named < 16 ? kColours[named % 8]! : "";
      i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
  return { colour, bold };
}

export function pieces(line: string): Piece[] {
  const all: Piece[] = [];
  let style: Style = { colour: "", bold: false };
  let from = 0;
  const add = (to: number) => {
    if (to > from) all.push({ text: line.slice(from, to), ...style });
  };
  for (const found of line.matchAll(kSequence)) {
    add(found.index);
    from = found.index + found[0].length;
    if (found[2] === "m") style = apply(style, found[1] ?? "");
  }
  add(line.length);
  return all;
}

export const plain = (line: string): string => line.replaceAll(kSequence, "");
