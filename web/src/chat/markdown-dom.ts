// Puts the Markdown of a model into the page: only elements of text, and nothing that loads or runs.
import DOMPurify from "dompurify";
import { copyText } from "../lib/copy";
import { blocksOf } from "./markdown";

const kAllowed = {
  ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td", "span"],
  ALLOWED_ATTR: ["href", "class", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

function element<K extends keyof HTMLElementTagNameMap>(name: K, className: string, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

// A heading with the language and a button, above the code.
function withHeading(pre: HTMLPreElement): void {
  const code = pre.querySelector("code");
  const language = /(?:^|\s)language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
  const box = element("div", "code");
  const heading = element("div", "line");
  const button = element("button", "");
  button.type = "button";
  // The name for screen readers starts with the visible word.
  const name = (word: string) => {
    button.textContent = word;
    button.ariaLabel = `${word} the code${language ? ` in ${language}` : ""}`;
  };
  name("Copy");
  button.addEventListener("click", () => {
    void copyText(code?.textContent ?? "").then((done) => {
      name(done ? "Copied" : "Not copied:");
      setTimeout(() => name("Copy"), 2000);
    });
  });
  heading.append(element("span", "quiet", language || "code"), button);
  pre.replaceWith(box);
  pre.tabIndex = 0; // it scrolls sideways
  box.append(heading, pre);
}

function blockOf(html: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, kAllowed);
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
    if (link.href && link.textContent !== link.href) link.title = link.href;
  }
  for (const pre of fragment.querySelectorAll("pre")) withHeading(pre);
  return fragment;
}

// An action: keeps the unchanged blocks of a growing text, and with them the selection of the reader.
export function markdown(node: HTMLElement, text: string): { update(text: string): void } {
  let shown: string[] = [];
  function update(next: string): void {
    const blocks = blocksOf(next);
    let same = 0;
    while (same < blocks.length && blocks[same] === shown[same]) same += 1;
    while (node.childElementCount > same) node.lastElementChild!.remove();
    for (const html of blocks.slice(same)) {
      const block = element("div", "block");
      block.append(blockOf(html));
      node.append(block);
    }
    shown = blocks;
  }
  node.textContent = "";
  update(text);
  return { update };
}
