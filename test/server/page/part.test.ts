/** The page over HTTP: its document for browsers alone, and its assets. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Running, startServer } from "../running.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-page-"));
const script = "console.log('the page');\n";
let server: Running;

beforeAll(async () => {
  const name = "main-ABCDEFGH.js";
  writeFileSync(join(folder, name), script);
  writeFileSync(join(folder, `${name}.gz`), gzipSync(script));
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(script));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>svc</title>");
  writeFileSync(join(folder, "secret.txt"), "not listed");
  writeFileSync(
    join(folder, "files.json"),
    JSON.stringify([{ name, contentType: "text/javascript; charset=utf-8", gzipBytes: 50 }]),
  );
  server = await startServer({ pageFolder: folder });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** `fetch` would unpack the body. */
const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });

test.each(["/", "/traces/0123", "/dashboards", "/alerts/a/edit", "/settings/tokens", "/signin"])(
  "%s is the document for a browser",
  async (path) => {
    const response = await get(path, { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([response.status, await response.text()]).toEqual([200, "<!doctype html><title>svc</title>"]);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("vary")).toContain("Accept");
    const policy = response.headers.get("content-security-policy")!;
    for (const part of ["default-src 'none'", "script-src 'self'", "trusted-types 'none'"])
      expect(policy).toContain(part);
    const again = await get(path, { Accept: "text/html", "If-None-Match": response.headers.get("etag")! });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  },
);

test("programs get what they got before", async () => {
  const elastic = await get("/", { Authorization: `Bearer ${server.adminToken}` });
  expect(elastic.headers.get("x-elastic-product")).toBe("Elasticsearch");
  expect((await get("/traces")).status).toBe(404);
  const metrics = await get("/metrics", {
    Accept: "text/html",
    Authorization: `Bearer ${server.adminToken}`,
  });
  expect(await metrics.text()).toContain("# TYPE svc_");
  expect((await get("/nothing", { Accept: "text/html" })).status).toBe(404);
});

test.each([
  ["br", (bytes: Uint8Array) => brotliDecompressSync(bytes)],
  ["gzip", (bytes: Uint8Array) => gunzipSync(bytes)],
  [undefined, (bytes: Uint8Array) => bytes],
] as const)("an asset in encoding %s", async (encoding, unpack) => {
  const { request } = await import("node:http");
  const headers = encoding === undefined ? {} : { "Accept-Encoding": `deflate, ${encoding}` };
  const { bytes, head } = await new Promise<{ bytes: Buffer; head: Record<string, unknown> }>((resolve) => {
    request(`${server.url}/assets/main-ABCDEFGH.js`, { headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => resolve({ bytes: Buffer.concat(pieces), head: response.headers }));
    }).end();
  });
  expect(Buffer.from(unpack(bytes)).toString()).toBe(script);
  expect(head["content-encoding"]).toBe(encoding);
  expect(head["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(head.vary).toBe("Accept-Encoding");
});

test.each(["secret.txt", "files.json", "..%2fpackage.json", "main-ABCDEFGH.js.br", "x"])(
  "%s is no asset",
  async (name) => {
    const response = await get(`/assets/${name}`);
    expect([400, 404]).toContain(response.status);
    expect(await response.text()).not.toContain("listed");
  },
);

test("a server whose page was not built says so", async () => {
  const bare = await startServer({ pageFolder: join(folder, "none") });
  const response = await fetch(`${bare.url}/`, { headers: { Accept: "text/html" } });
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("npm run build")]);
  await bare.stop();
});
