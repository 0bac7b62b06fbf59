/** Which route answers a path. */

import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineRoute } from "../../../server/api/define-route.ts";
import { openApiOf } from "../../../server/api/openapi.ts";
import { makeRouter, matchRoute } from "../../../server/http/router.ts";

const get = (path: string) =>
  defineRoute({
    method: "GET",
    path,
    permission: null,
    summary: path,
    tag: "test",
    response: z.string(),
    handle: async () => path,
  });

const paths = [
  "/*",
  "/page/*",
  "/page/assets/*",
  "/page/{name}",
  "/page/{name}/edit",
  "/page/about",
  "/{a}/x/*",
];
const router = makeRouter(paths.map(get));

describe("a path is answered by", () => {
  test.each([
    ["/page/about", "/page/about", {}],
    ["/page/other", "/page/{name}", { name: "other" }],
    ["/page/other/edit", "/page/{name}/edit", { name: "other" }],
    ["/page/a/b", "/page/*", { "*": "a/b" }],
    ["/page/assets/app.js", "/page/assets/*", { "*": "app.js" }],
    ["/page/assets/fonts/a%20b.woff2", "/page/assets/*", { "*": "fonts/a b.woff2" }],
    ["/elsewhere", "/*", { "*": "elsewhere" }],
    ["/q/x/y", "/{a}/x/*", { a: "q", "*": "y" }],
    // A folder's own path is not below it.
    ["/page", "/*", { "*": "page" }],
  ])("%s: %s", (path, expected, params) => {
    const match = matchRoute(router, "GET", path);
    expect([match.route.path, match.params]).toEqual([expected, params]);
  });

  test("none with another method, and HEAD by GET's", () => {
    expect(() => matchRoute(router, "POST", "/page/assets/app.js")).toThrow(
      "/page/assets/* takes GET, HEAD, not POST",
    );
    expect(matchRoute(router, "HEAD", "/page/assets/app.js").route.path).toBe("/page/assets/*");
  });
});

test.each(["..", ".", "%2e%2e", "a%2fb", "a%5cb", "%00"])(
  "the segment %s below a prefix is refused",
  (segment) => {
    expect(() => matchRoute(router, "GET", `/page/assets/${segment}/x`)).toThrow("names no file");
  },
);

test("nothing but a prefix and a slash is no path below it", () => {
  expect(() => matchRoute(makeRouter([get("/page/*")]), "GET", "/page/")).toThrow("there is nothing at");
});

test("the document has what stands below a prefix as a parameter", () => {
  const { paths: documented } = openApiOf([get("/page/*")]);
  expect(Object.keys(documented)).toEqual(["/page/{path}"]);
  expect(documented["/page/{path}"]!.get!.parameters).toMatchObject([{ name: "path", in: "path" }]);
});
