/** Where a browser is sent after a login: to no other host, whatever it asks for. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { checkReturnPath } from "../../../server/sign-in/return-path.ts";
import { type Running, startServer } from "../running.ts";
import { Browser } from "./browser.ts";

let server: Running;
beforeAll(async () => {
  // Nobody listens there: a path that is refused is refused before.
  const identity = { issuer: "http://127.0.0.1:1", audiences: ["svc"], groupsClaim: "groups" };
  server = await startServer({ identity, oidcClient: { id: "svc", scopes: "openid" } });
});
afterAll(() => server.stop());

/** Texts that must not lead to another host, however a browser reads them. */
const hostile = [
  "//evil.example",
  "///evil.example",
  "/\\evil.example",
  "\\\\evil.example",
  "/\t/evil.example",
  "/\n/evil.example",
  "\t//evil.example",
  " //evil.example",
  "/ /evil.example",
  "/..//evil.example",
  "/.//evil.example",
  "/a/..//evil.example",
  "/a/../\\evil.example",
  "/%2e%2e//evil.example",
  "https://evil.example",
  "https:evil.example",
  "javascript:alert(1)",
  "evil.example",
  "@evil.example",
  ".evil.example",
  "",
  "?a",
  "/a\r\nSet-Cookie: x=y",
  "/a\0",
  `/${"a".repeat(2_000)}`,
];

test.each(hostile)("nobody is sent back to %j", async (path) => {
  const got = await new Browser(server).follow(
    `/api/v1/session/oidc/start?return=${encodeURIComponent(path)}`,
  );
  expect([got.status, got.headers.location]).toEqual([400, undefined]);
  expect(got.json.error).toBe(
    "return must be a path of this server: it begins with one /, and is no other host's",
  );
});

test("a path that is taken leads to no other host, whatever its letters", () => {
  const letters = [
    "/",
    "\\",
    ".",
    "..",
    "%2f",
    "%5c",
    "%2e",
    "\t",
    "\n",
    " ",
    "@",
    ":",
    "?",
    "#",
    "a",
    "evil.example",
  ];
  let taken = 0;
  for (let i = 0; i < 200_000; i++) {
    const length = 1 + (i % 6);
    let text = "/";
    for (
      let at = 0, left = Math.imul(i, 2_654_435_761) >>> 0;
      at < length;
      at++, left = Math.imul(left ^ (left >>> 13), 1_274_126_177) >>> 0
    )
      text += letters[left % letters.length];
    const path = checkReturnPath(text);
    if (path === null) continue;
    taken++;
    for (const base of ["https://svc.example/", "https://svc.example/api/v1/session/oidc/callback?code=c"]) {
      expect(new URL(path, base).origin, JSON.stringify(text)).toBe("https://svc.example");
      expect(path).toMatch(/^\/(?![/\\])/);
    }
  }
  expect(taken).toBeGreaterThan(1_000);
});
