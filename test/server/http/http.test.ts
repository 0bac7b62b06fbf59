/** What the server does with HTTP as such, whatever is asked. */

import { connect } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, search, sendRaw, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ hostNames: ["svc.test"] });
});
afterAll(() => server.stop());

const anyTime = { query: "", startTime: 0, endTime: 1 };
/** Behind a head stands a body of JSON: the answer is whole, though the connection stays open. */
const isWhole = /\r\n\r\n.*\}\s*$/s;
const asJson = { "Content-Type": "application/json" };

describe("paths and methods", () => {
  test.each([
    ["/nothing", 'there is nothing at "/nothing"'],
    ["/api/v1/query/log", 'there is nothing at "/api/v1/query/log"; did you mean /api/v1/query/logs?'],
    ["/api/v1/query/logs/", 'there is nothing at "/api/v1/query/logs/"; did you mean /api/v1/query/logs?'],
    ["/api/v1/tokens/a/b", /^there is nothing at/],
    ["/api/v1/tokens//", /^there is nothing at/],
  ])("%s gives 404", async (path, error) => {
    const got = await call(server, path);
    expect(got.status).toBe(404);
    expect(got.json.error).toEqual(typeof error === "string" ? error : expect.stringMatching(error));
  });

  test.each([
    ["GET", "/api/v1/query/logs", "POST"],
    ["DELETE", "/api/v1/ingest/logs", "POST"],
    ["POST", "/health", "GET, HEAD"],
    ["PUT", "/api/v1/tokens", "POST, GET, HEAD"],
    ["OPTIONS", "/api/v1/query/logs", "POST"],
  ])("%s %s gives 405 and says what would do", async (method, path, allow) => {
    const got = await call(server, path, { method });
    expect(got.status).toBe(405);
    expect(got.headers.get("allow")).toBe(allow);
    expect(got.json).toEqual({ error: `${path} takes ${allow}, not ${method}` });
  });

  test("HEAD is GET without the body", async () => {
    const got = await call(server, "/health", { method: "HEAD" });
    expect([got.status, got.text, got.headers.get("content-length")]).toEqual([200, "", "16"]);
  });

  test("a broken percent-encoding gives 400", async () => {
    const got = await call(server, "/api/v1/tokens/%zz", { token: server.adminToken });
    expect(got.status).toBe(400);
  });

  test("GET with a body gives 400", async () => {
    const got = await sendRaw(
      server.port,
      "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
      1_000,
      isWhole,
    );
    expect(got).toMatch(/^HTTP\/1\.1 400 /);
    expect(got).toContain("this request takes no body");
  });
});

describe("heads", () => {
  const ask = (line: string, headers: string) =>
    sendRaw(server.port, `${line}\r\nHost: localhost\r\n${headers}\r\n`, 1_000, isWhole);

  test.each([
    ["a header", "GET /health HTTP/1.1", `Authorization: Bearer ${"a".repeat(20_000)}\r\n`],
    ["many headers", "GET /health HTTP/1.1", `X: ${"a".repeat(900)}\r\n`.repeat(60)],
    ["a path", `GET /${"a".repeat(20_000)} HTTP/1.1`, ""],
    ["a query", `GET /health?${"a".repeat(20_000)} HTTP/1.1`, ""],
    [
      "a header before a body",
      "POST /api/v1/query/logs HTTP/1.1",
      `X: ${"a".repeat(60_000)}\r\nContent-Length: 0\r\n`,
    ],
  ])("%s of more than 16 KiB gives 431 as JSON", async (_name, line, headers) => {
    const got = await ask(line, headers);
    expect(got).toMatch(/^HTTP\/1\.1 431 /);
    expect(got).toMatch(/\{"error":"path and headers are \d+ bytes, 16384 are taken: /);
  });

  test("a token of an identity provider with many groups fits", async () => {
    expect(await ask("GET /health HTTP/1.1", `X: ${"a".repeat(16_000)}\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("what the library answers by itself is what README.md says", async () => {
    const raw = (text: string) => sendRaw(server.port, text, 1_000, isWhole);
    const host = "Host: localhost\r\n";
    const html = (status: number) => new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close[^]*<h1>`);
    expect(await ask("GET /health HTTP/1.1", `X: ${"a".repeat(70_000)}\r\n`)).toMatch(html(431));
    expect(await ask("GET /health HTTP/1.1", "X: a\r\n".repeat(120))).toMatch(html(431));
    expect(await raw("GET /health HTTP/1.1\r\n\r\n")).toMatch(html(400));
    expect(await raw(`GET /health HTTP/1.0\r\n${host}\r\n`)).toMatch(html(505));
    const both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n";
    expect(await raw(`POST /api/v1/query/logs HTTP/1.1\r\n${host}${both}\r\n2\r\n{}\r\n0\r\n\r\n`)).toMatch(
      html(400),
    );
    const body = JSON.stringify(anyTime);
    const chunked = `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`;
    const chunk = `${body.length.toString(16)}\r\n${body}XX0\r\n\r\n`;
    expect(await raw(`POST /api/v1/query/logs HTTP/1.1\r\n${host}${chunked}\r\n${chunk}`)).toMatch(/ 200 OK/);
  });
});

describe("what needs no token", () => {
  test.each([
    ["a page of another site", { Origin: "https://evil.example" }],
    ["a page of another port", { Origin: "http://127.0.0.1:1" }],
    ["a cross-site request without Origin", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }],
    ["a frame", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe" }],
    ["a page of another port without Origin", { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" }],
  ])("is not answered to %s", async (_name, headers) => {
    for (const path of ["/", "/health", "/ready", "/docs", "/openapi.json"]) {
      const got = await call(server, path, { headers: headers as Record<string, string> });
      expect([path, got.status, got.headers.get("x-elastic-product")]).toEqual([path, 403, null]);
    }
  });

  test.each([
    ["agents", {}],
    ["a page of the server's own", { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors" }],
    ["an address that was typed", { "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" }],
    [
      "a link",
      { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" },
    ],
  ])("is answered to %s", async (_name, headers) => {
    for (const path of ["/", "/health", "/docs"])
      expect((await call(server, path, { headers: headers as Record<string, string> })).status).toBe(200);
  });
});

describe("every answer", () => {
  test.each(["/health", "/nothing", "/metrics"])(
    "%s bears the security headers and lets no other site read it",
    async (path) => {
      const { headers } = await call(server, path, { headers: { "Sec-Fetch-Site": "same-origin" } });
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("access-control-allow-origin")).toBeNull();
    },
  );
});

describe("bodies", () => {
  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("%s is read", async (encoding, pack) => {
    const body = new Uint8Array(pack(JSON.stringify(anyTime)));
    const got = await call(server, "/api/v1/query/logs", {
      headers: { ...asJson, "Content-Encoding": encoding },
      body,
    });
    expect(got.json).toEqual({ count: 0, logs: [] });
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("%s that was cut short, or is something else, gives 400", async (encoding, pack) => {
    const headers = { ...asJson, "Content-Encoding": encoding };
    const whole = new Uint8Array(pack(JSON.stringify(anyTime)));
    for (const body of [whole.subarray(0, -1), new TextEncoder().encode(JSON.stringify(anyTime))]) {
      const got = await call(server, "/api/v1/query/logs", {
        headers,
        body: body as Uint8Array<ArrayBuffer>,
      });
      expect(got.status).toBe(400);
      expect(got.json.error).toContain(`the body is not whole ${encoding}: `);
    }
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("a %s bomb gives 413", async (encoding, pack) => {
    const body = new Uint8Array(pack(new Uint8Array(300_000_000)));
    const got = await ingest(server, body, { "Content-Encoding": encoding });
    expect(body.length).toBeLessThan(1_000_000);
    expect(got.status).toBe(413);
    expect(got.json).toEqual({
      error: "the body unpacks to more than 134217728 bytes: send it in smaller parts",
    });
  });

  test("a body in chunks is read", async () => {
    const text = JSON.stringify(anyTime);
    const chunks = [...text].map((char) => `1\r\n${char}\r\n`).join("");
    const head = "POST /api/v1/query/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const got = await sendRaw(
      server.port,
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
      500,
      isWhole,
    );
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
    expect(got).toContain('{"count":0,"logs":[]}');
  });

  test("a huge Content-Length is refused before anything is sent", async () => {
    const head = "POST /api/v1/query/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const got = await sendRaw(server.port, `${head}Content-Length: 900000000\r\n\r\n`, 2_000, isWhole);
    expect(got).toMatch(/^HTTP\/1\.1 413 /);
    expect(got).toContain("the body is larger than 2097152 bytes");
  });
});

describe("broken HTTP", () => {
  const hostile = [
    "\0\0\0\0\r\n\r\n",
    "hello\r\n\r\n",
    "GET\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost\r\n\r\n",
    "GET / HTTP/1.1\r\n: x\r\n\r\n",
    `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\n${"x: y\r\n".repeat(500)}\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${"y".repeat(100_000)}\r\n\r\n`,
    "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e3\r\n\r\n",
    "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
    "POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n",
    "GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  ];

  test.each(hostile)("%j harms nobody", async (bytes) => {
    const got = await sendRaw(server.port, Buffer.from(bytes, "latin1"), 300);
    expect(got).not.toMatch(/^HTTP\/1\.1 (?:2|500|503)/);
    expect(got).not.toMatch(/\bat .*\.ts:/);
    expect((await call(server, "/health")).status).toBe(200);
  });

  test("requests in one piece are answered in order", async () => {
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const got = await sendRaw(server.port, one("/health") + one("/nothing") + one("/ready"), 500);
    expect([...got.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((match) => match[1])).toEqual(["200", "404", "200"]);
  });
});

describe("the Host header on loopback", () => {
  const get = (host: string) =>
    sendRaw(server.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

  test.each([
    "localhost",
    "localhost:8080",
    "LOCALHOST",
    "127.0.0.1:1",
    "127.1.2.3",
    "[::1]:8080",
    "a.localhost",
    "svc.test",
  ])("%s is answered", async (host) => {
    expect(await get(host)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "192.168.0.1",
    "[::2]",
  ])("%s is not", async (host) => {
    const got = await get(host);
    expect(got).toMatch(/^HTTP\/1\.1 403 /);
    expect(got).toContain("--host-name");
  });
});

describe.concurrent("clients that are slow or go away", () => {
  test("one that sends its body a byte at a time is dropped, and meanwhile others are served", async ({
    expect,
  }) => {
    const startedMs = Date.now();
    const closed = new Promise<void>((resolve) => {
      const socket = connect(server.port, "127.0.0.1", () => {
        socket.write(
          "POST /api/v1/query/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
        );
        socket.write("Content-Length: 1000\r\n\r\n");
      });
      const drip = setInterval(() => socket.write(" "), 200);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        clearInterval(drip);
        resolve();
      });
    });
    expect((await search(server)).status).toBe(200);
    await closed;
    expect(Date.now() - startedMs).toBeLessThan(30_000);
  }, 40_000);

  test("one that sends half a header is dropped", async ({ expect }) => {
    const startedMs = Date.now();
    await sendRaw(server.port, "GET /health HTTP/1.1\r\nHost: loc", 35_000);
    expect(Date.now() - startedMs).toBeLessThan(30_000);
  }, 40_000);

  test("an endless body in chunks is answered with 413 and cut off", async ({ expect }) => {
    const outcome = await new Promise<{ answer: string; sent: number }>((resolve) => {
      let answer = "";
      let sent = 0;
      const socket = connect(server.port, "127.0.0.1", () => {
        socket.write(
          "POST /api/v1/query/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
        );
        socket.write("Transfer-Encoding: chunked\r\n\r\n");
        pump();
      });
      const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
      const pump = () => {
        while (!socket.destroyed && socket.write(chunk)) sent += 65_536;
      };
      socket.on("drain", pump);
      socket.on("data", (data) => {
        answer += data.toString();
      });
      socket.on("error", () => socket.destroy());
      socket.on("close", () => resolve({ answer, sent }));
    });
    expect(outcome.answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(outcome.sent).toBeLessThan(200_000_000);
  }, 40_000);

  test("hundreds that break off in the middle of a body leave nothing behind", async ({ expect }) => {
    const head =
      "POST /api/v1/ingest/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n";
    const sent = `${head}Authorization: ${server.adminToken}\r\nContent-Length: 100000\r\n\r\n${"x".repeat(50_000)}`;
    await Promise.all(
      Array.from({ length: 300 }, () => {
        return new Promise<void>((resolve) => {
          const socket = connect(server.port, "127.0.0.1", () => socket.write(sent, () => socket.destroy()));
          socket.on("error", () => socket.destroy());
          socket.on("close", () => resolve());
        });
      }),
    );
    const held = async () =>
      Number(/^svc_http_body_bytes_held (\d+)$/m.exec((await call(server, "/metrics")).text)?.[1]);
    // Other tests run beside this one; 300 bodies of 50,000 bytes would stand out.
    await expect.poll(held, { timeout: 10_000 }).toBeLessThan(1_000_000);
  });

  test("one that reads a large answer slowly gets it whole, one that does not read is dropped", async ({
    expect,
  }) => {
    const message = "m".repeat(20_000);
    const rows = Array.from({ length: 1_000 }, (_, i) => ({ timestamp: Date.now(), message, i }));
    expect((await ingest(server, lines(rows))).json.accepted).toBe(1_000);
    const body = JSON.stringify({ query: "", startTime: 0, endTime: Date.now() + 1_000, limit: 1_000 });
    const request = `POST /api/v1/query/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const read = await new Promise<number>((resolve) => {
      let bytes = 0;
      const socket = connect(server.port, "127.0.0.1", () => socket.write(request));
      socket.on("data", (data) => {
        bytes += data.length;
        socket.pause();
        setTimeout(() => socket.resume(), 5);
        if (data.subarray(-7).toString("latin1").endsWith("0\r\n\r\n")) socket.destroy();
      });
      socket.on("close", () => resolve(bytes));
    });
    expect(read).toBeGreaterThan(20_000_000);
    const deaf = connect(server.port, "127.0.0.1", () => {
      deaf.pause();
      deaf.write(request);
    });
    await expect
      .poll(async () => (await call(server, "/metrics")).text, { timeout: 40_000, interval: 500 })
      .toMatch(/route="\/api\/v1\/query\/logs",status="gone"/);
    deaf.destroy();
  }, 60_000);
});
