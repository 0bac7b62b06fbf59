/** Compressed answers: the same bytes, in the encoding that the client prefers, and never where it does not take one. */

import { type IncomingHttpHeaders, request } from "node:http";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ingest, lines, type Running, startServer } from "../running.ts";

let server: Running;
const startMs = Date.UTC(2026, 0, 29);

beforeAll(async () => {
  server = await startServer();
  const rows = Array.from({ length: 3_000 }, (_, i) => ({
    timestamp: startMs + i,
    message: `row ${i} of the flock`,
  }));
  await ingest(server, lines(rows));
});
afterAll(() => server.stop());

interface Raw {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** The answer as it is on the wire. */
function ask(path: string, acceptEncoding: string | undefined, body?: object, method = "POST"): Promise<Raw> {
  const headers = {
    Authorization: `Bearer ${server.adminToken}`,
    ...(acceptEncoding === undefined ? {} : { "Accept-Encoding": acceptEncoding }),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      server.url + path,
      { method: body === undefined ? "GET" : method, headers },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () =>
          resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(pieces) }),
        );
      },
    );
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const search = (limit: number) => ({ query: "", startTime: startMs, endTime: startMs + 10_000, limit });
const unpack: Record<string, (bytes: Uint8Array) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

test.each([
  ["gzip", "gzip"],
  ["gzip, deflate, br, zstd", "zstd"],
  ["br;q=0.9, gzip;q=0.95", "gzip"],
  ["GZIP ; q=0.5 , identity", "gzip"],
  ["zstd;q=0, br", "br"],
])("a list of rows for a client that takes %s comes as %s", async (accepted, encoding) => {
  for (const limit of [100, 1_000]) {
    const plain = await ask("/api/v1/query/logs", undefined, search(limit));
    const packed = await ask("/api/v1/query/logs", accepted, search(limit));
    expect(packed.headers["content-encoding"]).toBe(encoding);
    expect(packed.headers.vary).toBe("Accept-Encoding");
    expect(unpack[encoding]!(packed.bytes).toString()).toBe(plain.bytes.toString());
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
  }
});

test.each([undefined, "", "identity", "gzip;q=0", "deflate", "*;q=0", "nonsense;;q=,"])(
  "a client that takes %j gets the answer as it is",
  async (accepted) => {
    const { status, headers, bytes } = await ask("/api/v1/query/logs", accepted, search(1_000));
    expect([status, headers["content-encoding"]]).toEqual([200, undefined]);
    expect(JSON.parse(bytes.toString()).count).toBe(1_000);
  },
);

describe("left as they are", () => {
  test("short answers and errors", async () => {
    const short = await ask("/api/v1/query/logs", "gzip", search(1));
    expect([short.status, short.headers["content-encoding"]]).toEqual([200, undefined]);
    const wrong = await ask("/api/v1/query/logs", "gzip", { query: "{" });
    expect([wrong.status, wrong.headers["content-encoding"]]).toEqual([400, undefined]);
  });

  test("answers with an ETag, which names their bytes", async () => {
    const content = { text: "x".repeat(10_000) };
    const dashboard = { metadata: { title: "Long", id: "long" }, content };
    const made = await ask("/api/v1/dashboards/update", "gzip", { dashboard });
    expect([made.status, made.bytes.toString()]).toEqual([200, expect.stringContaining("long")]);
    const { headers, bytes } = await ask("/api/v1/dashboards/long", "gzip");
    expect(headers.etag).toBeDefined();
    expect(headers["content-encoding"]).toBeUndefined();
    expect(bytes.toString()).toContain(content.text);
  });

  test("a backup, and a tail", async () => {
    const backup = await ask("/api/v1/backup", "gzip", {}, "POST").catch((error: Error) => error);
    if (!(backup instanceof Error)) expect(backup.headers["content-encoding"]).toBeUndefined();
    const controller = new AbortController();
    const tail = await fetch(`${server.url}/api/v1/query/tail?query=`, {
      headers: { "Accept-Encoding": "gzip", Authorization: `Bearer ${server.adminToken}` },
      signal: controller.signal,
    });
    expect([tail.status, tail.headers.get("content-encoding")]).toEqual([200, null]);
    controller.abort();
  });
});

test("the document, the metrics and the page's description are compressed too", async () => {
  for (const path of ["/openapi.json", "/metrics", "/docs"]) {
    const { headers, bytes } = await ask(path, "br");
    expect([path, headers["content-encoding"]]).toEqual([path, "br"]);
    expect(brotliDecompressSync(bytes).length).toBeGreaterThan(1_400);
  }
});

test("a reader that goes away in the middle of a compressed answer leaves nothing running", async () => {
  for (let i = 0; i < 20; i++) {
    const controller = new AbortController();
    const asking = fetch(`${server.url}/api/v1/query/logs`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept-Encoding": "gzip" },
      body: JSON.stringify(search(1_000)),
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), i);
    await asking.then((response) => response.text()).catch(() => undefined);
  }
  await vi.waitFor(
    async () => {
      const { bytes } = await ask("/metrics", undefined);
      expect(bytes.toString()).toMatch(/^svc_http_requests_in_flight 1$/m);
    },
    { timeout: 20_000, interval: 100 },
  );
});
