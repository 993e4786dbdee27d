// The address of a page within the console: #/requests?model=x. Links are ordinary links, so the browser's history works.

export interface Route {
  page: string;
  rest: string; // after the name of the page: "/a/b"; may be empty
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  const end = path.indexOf("/");
  return { page: end < 0 ? path : path.slice(0, end), rest: end < 0 ? "" : path.slice(end), query: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)) };
}

export function routeTo(page: string, query: Record<string, string> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  return `#/${page}${given.length > 0 ? `?${new URLSearchParams(given)}` : ""}`;
}
