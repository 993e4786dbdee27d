// Markdown of a model as HTML, block by block. The HTML is still to be sanitised: markdown-dom.ts.
import MarkdownIt from "markdown-it";

const md = new MarkdownIt({ html: false, linkify: false, breaks: true });

const escaped = (text: string): string => md.utils.escapeHtml(text);

// An image would be loaded from elsewhere, so there is its description and its address as a text.
md.renderer.rules.image = (tokens, index) => {
  const { content, attrs } = tokens[index]!;
  const address = String(attrs?.find(([name]) => name === "src")?.[1] ?? "");
  return `<span class="image">[image${content ? `: ${escaped(content)}` : ""}] ${escaped(address.startsWith("data:") ? "" : address)}</span>`;
};
// Tables of answers stay tables on narrow screens.
md.renderer.rules.table_open = () => '<table class="options">';

// A text that is one JSON value is shown as code.
function jsonAsCode(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return `\`\`\`\`json\n${JSON.stringify(JSON.parse(text), null, 2)}\n\`\`\`\``;
  } catch {
    return text;
  }
}

// The HTML of each block, so that a text that grows changes the last blocks only.
export function blocksOf(text: string): string[] {
  const env = {};
  const tokens = md.parse(jsonAsCode(text), env);
  const blocks: string[] = [];
  let start = 0;
  tokens.forEach((token, index) => {
    if (token.level !== 0 || token.nesting === 1) return;
    blocks.push(md.renderer.render(tokens.slice(start, index + 1), md.options, env));
    start = index + 1;
  });
  return blocks;
}
