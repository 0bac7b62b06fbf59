/** JSON lines over HTTP: which rows are stored, and what the sender is answered. */

import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, search, startServer } from "../running.ts";

let server: Running;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.stop());

const now = Date.now();

/** The entries that `body` becomes, oldest first. */
async function stored(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const got = await ingest(server, body, headers);
  expect(got.json).toMatchObject({ refused: 0, errors: [] });
  return (await search(server, { limit: 1_000 })).json.logs.reverse();
}

describe("fields of a row", () => {
  const attributesOf = async (row: unknown) => (await stored(lines([row])))[0]!.attributes;

  test("a row comes back as it was sent", async () => {
    const row = {
      timestamp: now,
      log_level: "WARN",
      message: "größer\n\tals 🦜",
      attributes: { "service.name": "/k8s/a/b", "": "x" },
    };
    expect(await stored(lines([row]))).toEqual([row]);
  });

  test.each([
    ["a string", '"1674981729487160534"'],
    ["an integer beyond what JavaScript holds", "1674981729487160534"],
  ])("timeUnixNano as %s is read to the nanosecond", async (_name, nanos) => {
    await stored(`{"timeUnixNano":${nanos},"message":"a"}\n`);
    const { rows } = await server.service.store.search({
      signal: "logs",
      fromNs: 0n,
      toNs: 2n ** 62n,
      steps: [],
      limit: 1,
    });
    expect(rows[0]!.timeNs).toBe(1674981729487160534n);
  });

  test("timeUnixNano wins over timestamp, and null counts as missing", async () => {
    const rows = await stored(
      `{"timeUnixNano":"${now}000001","timestamp":5}\n{"timeUnixNano":null,"timestamp":${now - 1}}\n`,
    );
    expect(rows.map(({ timestamp }) => timestamp)).toEqual([now - 1, now]);
  });

  test("a row without a time gets the time of arrival", async () => {
    const before = Date.now();
    const [row] = await stored('{"message":"a"}\n');
    expect(row!.timestamp).toBeGreaterThanOrEqual(before);
    expect(row!.timestamp).toBeLessThanOrEqual(Date.now());
  });

  test("a message that is no text is stored as JSON", async () => {
    const messages = [
      '{"a":[1,2],"b":null}',
      "[true]",
      "12345678901234567890",
      "false",
      "1.5",
      '{"id":12345678901234567890}',
    ];
    const sent = messages.map((message, i) => `{"timestamp":${now + i},"message":${message}}\n`).join("");
    expect((await stored(sent)).map(({ message }) => message)).toEqual(messages);
  });

  test("message and log_level may be missing", async () => {
    expect(await stored(`{"timestamp":${now}}\n`)).toEqual([
      { timestamp: now, log_level: "", message: "", attributes: {} },
    ]);
  });

  test("nested attribute names are joined with dots, values become text, null is missing", async () => {
    const attributes = await attributesOf({
      attributes: {
        http: { status: 200, "user.agent": "x", deep: { ok: true } },
        list: [1, { a: 2 }],
        none: null,
        empty: {},
      },
    });
    expect(attributes).toEqual({
      "http.status": "200",
      "http.user.agent": "x",
      "http.deep.ok": "true",
      list: '[1,{"a":2}]',
    });
  });

  test("other fields of a row become attributes, unless `attributes` has the same key", async () => {
    const attributes = await attributesOf({
      host: "a",
      nested: { x: 1 },
      attributes: { host: "b" },
      level: "info",
    });
    expect(attributes).toEqual({ host: "b", "nested.x": "1", level: "info" });
  });

  test("integers keep every digit, other numbers are written in their shortest form", async () => {
    const [row] = await stored(
      '{"id":12345678901234567890,"nano":1674981729487160534,"f":1.50,"e":1e3,"n":-0.25}\n',
    );
    expect(row!.attributes).toEqual({
      id: "12345678901234567890",
      nano: "1674981729487160534",
      f: "1.5",
      e: "1000",
      n: "-0.25",
    });
  });

  test("names that every JavaScript object has are ordinary keys", async () => {
    const [row] = await stored(
      '{"__proto__":"a","attributes":{"constructor":"b","__proto__":"c","toString":"d","x":1}}\n',
    );
    expect(Object.entries(row!.attributes).sort()).toEqual([
      ["__proto__", "c"],
      ["constructor", "b"],
      ["toString", "d"],
      ["x", "1"],
    ]);
  });

  test("nesting beyond the depth limit is stored as JSON text", async () => {
    let value: unknown = "core";
    for (let i = 0; i < 40; i++) value = { a: value };
    const attributes = await attributesOf({ attributes: value });
    const [[key, text]] = Object.entries(attributes) as [[string, string]];
    expect(key.split(".")).toHaveLength(32);
    expect(text).toBe(`${'{"a":'.repeat(8)}"core"${"}".repeat(8)}`);
  });
});

describe("bodies", () => {
  const rows = Array.from({ length: 50 }, (_, i) => ({
    timestamp: now + i,
    log_level: "info",
    message: `m${i}`,
    attributes: { i: String(i) },
  }));

  test.each([
    ["lines", lines(rows)],
    ["lines without a last newline", lines(rows).trimEnd()],
    ["lines with CRLF", lines(rows).replaceAll("\n", "\r\n")],
    ["lines with blank ones between", `\n  \n${lines(rows).replaceAll("\n", "\n\n")}`],
    ["lines after a byte order mark", `\ufeff${lines(rows)}`],
    ["an array", JSON.stringify(rows)],
    ["an array over many lines", JSON.stringify(rows, null, 2)],
    ["gzip", new Uint8Array(gzipSync(lines(rows))), "gzip"],
    ["zstd", new Uint8Array(zstdCompressSync(lines(rows))), "zstd"],
    [
      "zstd in frames",
      new Uint8Array(
        Buffer.concat([zstdCompressSync(lines(rows.slice(0, 9))), zstdCompressSync(lines(rows.slice(9)))]),
      ),
      "zstd",
    ],
  ])("%s", async (_name, body, encoding = "identity") => {
    expect(await stored(body, { "Content-Encoding": encoding })).toEqual(rows);
  });

  test.each([
    "application/json",
    "application/x-ndjson; charset=utf-8",
    "text/plain",
    "application/octet-stream",
    "Application/JSONL",
  ])("Content-Type %s will do", async (type) => {
    expect(await stored(lines(rows), { "Content-Type": type })).toHaveLength(50);
  });

  test("an empty body and an empty array store nothing and are no error", async () => {
    for (const body of ["", "\n\n", "[]", " [ ] "]) {
      const got = await ingest(server, body);
      expect([got.status, got.json]).toEqual([
        200,
        { accepted: 0, refused: 0, errors: [], duplicate: false },
      ]);
    }
  });

  test("elements of an array are split correctly whatever they contain", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue())),
        async (objects) => {
          const sent = objects.map((object) => ({ message: object }));
          const before = (await search(server, { limit: 1_000 })).json;
          const got = await ingest(server, JSON.stringify(sent, null, 1));
          expect(got.json).toMatchObject({ accepted: sent.length, refused: 0 });
          const after = await search(server, { limit: Math.max(1, sent.length), startTime: now - 1 });
          const messages = after.json.logs.slice(0, sent.length).map(({ message }) => message);
          expect(messages.sort()).toEqual(objects.map((object) => JSON.stringify(object)).sort());
          expect(before.count).toBeGreaterThanOrEqual(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("line numbers count blank lines", async () => {
    const got = await ingest(server, `\n\n{"message":"a"}\n\nbad\n`);
    expect(got.json.errors.map(({ line }) => line)).toEqual([5]);
  });

  test("the line of an array element is its number", async () => {
    const got = await ingest(server, '[{"message":"a"}, 5, {"timestamp":"x"}]');
    expect(got.json.errors.map(({ line }) => line)).toEqual([2, 3]);
  });
});

describe("repeated bodies", () => {
  const body = lines([{ timestamp: now, message: "a" }]);
  /** Leaves out the records of the audit log. */
  const count = async () => (await search(server, { query: 'logs{audit=""}' })).json.count;

  test("the same Idempotency-Key adds nothing, whatever the body", async () => {
    const first = await ingest(server, body, { "Idempotency-Key": "k" });
    const second = await ingest(server, lines([{ message: "b" }, { message: "c" }]), {
      "Idempotency-Key": "k",
    });
    expect(first.json).toMatchObject({ accepted: 1, duplicate: false });
    expect(second.json).toMatchObject({ accepted: 1, duplicate: true });
    expect(await count()).toBe(1);
  });

  test("the same body adds nothing where every row has a time of its own, under any compression", async () => {
    await ingest(server, body);
    const again = await ingest(server, new Uint8Array(gzipSync(body)), { "Content-Encoding": "gzip" });
    expect(again.json).toMatchObject({ accepted: 1, duplicate: true });
    expect(await count()).toBe(1);
  });

  test("the same body adds its rows again where a row has no time", async () => {
    const untimed = `${body}{"message":"b"}\n`;
    await ingest(server, untimed);
    expect((await ingest(server, untimed)).json.duplicate).toBe(false);
    expect(await count()).toBe(4);
  });

  test("keys and bodies of two tokens are independent", async () => {
    const made = await call<{ token: string }>(server, "/api/v1/tokens", {
      token: server.adminToken,
      headers: { "Content-Type": "application/json" },
      body: '{"role":"ingest"}',
    });
    const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": "k" };
    await ingest(server, body, headers);
    await ingest(server, body);
    const other = { token: made.json.token, body };
    expect((await call(server, "/api/v1/ingest/logs", { ...other, headers })).json.duplicate).toBe(false);
    expect(await count()).toBe(3);
    expect(
      (await call(server, "/api/v1/ingest/logs", { ...other, headers: { "Content-Type": "text/plain" } }))
        .json.duplicate,
    ).toBe(false);
  });

  test("a key survives a restart", async () => {
    await ingest(server, body, { "Idempotency-Key": "k" });
    const { dir } = server;
    await server.service.close();
    server = await startServer({ dataDir: dir });
    expect((await ingest(server, body, { "Idempotency-Key": "k" })).json).toMatchObject({
      accepted: 1,
      duplicate: true,
    });
    expect(await count()).toBe(1);
  });
});

test("hundreds of concurrent small bodies are all taken", async () => {
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, i) => ingest(server, lines([{ timestamp: now + i, message: `m${i}` }]))),
  );
  expect(answers.every(({ json }) => json.accepted === 1)).toBe(true);
  const { logs } = (await search(server, { limit: 1_000 })).json;
  expect(new Set(logs.map(({ message }) => message)).size).toBe(400);
  const { text } = await call(server, "/metrics");
  expect(text).toContain('svc_ingest_rows_total{signal="logs"} 400\n');
  expect(text).toContain("svc_ingest_batches_total 400\n");
});

test("refused rows are counted by reason", async () => {
  await ingest(server, 'x\n{"timestamp":"y"}\n{"timestamp":-5}\n{}\n');
  const { text } = await call(server, "/metrics");
  for (const reason of ["json", "field", "row"])
    expect(text).toContain(`svc_ingest_refused_rows_total{reason="${reason}"} 1\n`);
});
