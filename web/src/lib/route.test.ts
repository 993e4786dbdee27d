import { expect, test } from "vitest";
import { parseRoute, routeTo } from "./route";

test("an address names a page and its query", () => {
  expect(parseRoute("")).toMatchObject({ page: "", rest: "" });
  expect(parseRoute("#/")).toMatchObject({ page: "", rest: "" });
  const route = parseRoute("#/requests/ab/c?model=a%20b&key=");
  expect(route).toMatchObject({ page: "requests", rest: "/ab/c" });
  expect(route.query.get("model")).toBe("a b");
});

test("an address has only what is given", () => {
  expect(routeTo("models")).toBe("#/models");
  expect(routeTo("requests", { model: "a&b", key: "" })).toBe("#/requests?model=a%26b");
  expect(parseRoute(routeTo("requests", { model: "a&b" })).query.get("model")).toBe("a&b");
});
