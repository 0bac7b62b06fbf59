/** Every kind of bad input, each with its exact answer. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, search, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const good = { query: "", startTime: 0, endTime: 1 };
const time = "an integer, Unix time in milliseconds";
const rowTime =
  "a time: RFC 3339, or Unix time since 1973 in seconds, milliseconds, microseconds or nanoseconds";
const query = "a string, svcQL or search terms";

/** Name, body (text as it is, else JSON), status, the whole error. */
const queries: [string, unknown, number, string | RegExp][] = [
  ["an empty body", "", 400, "the body must be a JSON object, but it is empty"],
  [
    "not JSON",
    "{query: 1}",
    400,
    /^the body is not JSON: Expected property name or '}' in JSON at position 1/,
  ],
  ["JSON cut short", '{"query": "', 400, /^the body is not JSON: Unterminated string/],
  ["an array", [], 400, "the body must be a JSON object, got an array"],
  ["null", "null", 400, "the body must be a JSON object, got null"],
  ["a bare number", "1", 400, "the body must be a JSON object, got 1"],
  ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), 400, "the body is not valid UTF-8"],
  ["no field at all", {}, 400, `query is required: ${query}`],
  ["query missing", { ...good, query: undefined }, 400, `query is required: ${query}`],
  ["query null", { ...good, query: null }, 400, `query is required: ${query}`],
  ["query a number", { ...good, query: 5 }, 400, `query must be ${query}, got 5`],
  ["query an object", { ...good, query: {} }, 400, `query must be ${query}, got an object`],
  ["startTime missing", { ...good, startTime: undefined }, 400, `startTime is required: ${time}`],
  ["endTime missing", { ...good, endTime: undefined }, 400, `endTime is required: ${time}`],
  ["startTime text", { ...good, startTime: "0" }, 400, `startTime must be ${time}, got "0"`],
  ["startTime negative", { ...good, startTime: -1 }, 400, `startTime must be ${time}, got -1`],
  ["startTime fractional", { ...good, startTime: 0.5 }, 400, `startTime must be ${time}, got 0.5`],
  ["endTime huge", { ...good, endTime: 1e16 }, 400, `endTime must be ${time}, got 10000000000000000`],
  [
    "endTime beyond numbers",
    '{"query":"","startTime":0,"endTime":1e999}',
    400,
    `endTime must be ${time}, got Infinity`,
  ],
  ["start after end", { ...good, startTime: 2 }, 400, "startTime must not be after endTime, got 2 and 1"],
  ["limit 0", { ...good, limit: 0 }, 400, "limit must be an integer from 1 to 1000, got 0"],
  ["limit 1001", { ...good, limit: 1001 }, 400, "limit must be an integer from 1 to 1000, got 1001"],
  ["limit -1", { ...good, limit: -1 }, 400, "limit must be an integer from 1 to 1000, got -1"],
  ['limit "ten"', { ...good, limit: "ten" }, 400, 'limit must be an integer from 1 to 1000, got "ten"'],
  ["limit 1.5", { ...good, limit: 1.5 }, 400, "limit must be an integer from 1 to 1000, got 1.5"],
  ["limit true", { ...good, limit: true }, 400, "limit must be an integer from 1 to 1000, got true"],
  ["an unknown field", { ...good, limits: 5 }, 400, 'unknown field "limits"; did you mean limit?'],
  [
    "a field in the wrong case",
    { ...good, starttime: 5 },
    400,
    'unknown field "starttime"; did you mean startTime?',
  ],
  ["a field like nothing", { ...good, colour: 5 }, 400, 'unknown field "colour"'],
  ["__proto__ as a field", '{"__proto__":1}', 400, 'unknown field "__proto__"'],
  [
    "cursor a number",
    { ...good, cursor: 5 },
    400,
    "cursor must be a string, the cursor of an earlier answer, got 5",
  ],
  ["a long wrong value", { ...good, limit: "x".repeat(500) }, 400, /got "x{60}…"$/],
];

describe("POST /api/v1/query/logs", () => {
  test.each(queries)("%s", async (_name, body, status, error) => {
    const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const got = await call<{ error: string }>(server, "/api/v1/query/logs", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: sent as string,
    });
    expect(got.status).toBe(status);
    if (typeof error === "string") expect(got.json).toMatchObject({ error });
    else expect(got.json.error).toMatch(error);
  });

  test.each([
    [{ ...good, limit: "x" }, { field: "limit" }],
    [{ query: "", endTime: 1 }, { field: "startTime" }],
    [{ ...good, starttime: 1 }, { field: "starttime" }],
    [5, {}],
    [
      { ...good, query: "{a=}" },
      { field: "query", place: { line: 1, column: 4, start: 3, end: 4 } },
    ],
    [
      { ...good, query: "logs\n|= " },
      { field: "query", place: { line: 2, column: 3, start: 7, end: 7 } },
    ],
    // The column counts characters, the offsets count UTF-16 units.
    [
      { ...good, query: '{a="🙂" b}' },
      { field: "query", place: { line: 1, column: 8, start: 8, end: 9 } },
    ],
  ])("%j is told to programs as %j", async (body, details) => {
    const got = await call<{ error: string }>(server, "/api/v1/query/logs", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([got.status, got.json]).toEqual([400, { error: expect.any(String), ...details }]);
  });

  test.each([
    ["no Content-Type", { "Content-Type": "" }, "the Content-Type must be application/json, none came"],
    ["text", { "Content-Type": "text/plain" }, 'the Content-Type must be application/json, got "text/plain"'],
    [
      "what curl sends",
      { "Content-Type": "application/x-www-form-urlencoded" },
      'the Content-Type must be application/json, got "application/x-www-form-urlencoded" (curl sends this type unless told otherwise)',
    ],
    [
      "an unknown Content-Encoding",
      { "Content-Type": "application/json", "Content-Encoding": "br" },
      'the Content-Encoding must be gzip, zstd or deflate, got "br"',
    ],
  ])("%s gives 415", async (_name, headers, error) => {
    const body = new TextEncoder().encode(JSON.stringify(good));
    const got = await call(server, "/api/v1/query/logs", {
      headers: headers as unknown as Record<string, string>,
      body,
    });
    expect(got.status).toBe(415);
    expect(got.json).toEqual({ error });
  });

  test("a query of 1 MB is refused by the language", async () => {
    const got = await search(server, { query: "a".repeat(1_000_000) });
    expect([got.status, got.json]).toMatchObject([
      400,
      { error: "a query has at most 65536 characters, this one has 1000000" },
    ]);
  });

  test.each([
    ["alone are terms that nothing holds", "(".repeat(10_000), 200, undefined],
    [
      "in a selector are refused",
      `{a=${"(".repeat(10_000)}`,
      400,
      /^brackets nest at most 100 deep \(line 1, column 103\)\n.*\n *\^$/,
    ],
  ])("10,000 nested parentheses %s, and the next query is answered", async (_name, text, status, error) => {
    const got = await search(server, { query: text });
    expect(got.status).toBe(status);
    if (error) expect(got.json.error).toMatch(error);
    expect((await search(server)).status).toBe(200);
  });

  test("JSON nested 100,000 deep is refused", async () => {
    const got = await call<{ error: string }>(server, "/api/v1/query/logs", {
      headers: { "Content-Type": "application/json" },
      body: `{"query":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    });
    expect(got.status).toBe(400);
    expect(got.json.error).toBe("the body nests more than 64 objects and arrays");
  });

  test("a body of 100 MB gives 413", async () => {
    const got = await call(server, "/api/v1/query/logs", {
      headers: { "Content-Type": "application/json" },
      body: new Uint8Array(100_000_000),
    });
    expect(got.status).toBe(413);
    expect(got.json).toEqual({ error: "the body is larger than 2097152 bytes: send it in smaller parts" });
  });
});

const now = Date.now();
const kept = { timestamp: now, message: "kept" };

const early = "the time is before 1970-01-01, the earliest that can be stored";
const late = "the time is more than a day ahead of the server's clock";

/** Name, one row as text, why it is refused. */
const rows: [string, string | Uint8Array, string][] = [
  ["not JSON", "hello", `not JSON: Unexpected token 'h', "hello" is not valid JSON`],
  ["cut short", '{"message": "hel', "not JSON: Unterminated string in JSON at position 16"],
  ["an array", "[1]", "a row must be a JSON object, got an array"],
  ["null", "null", "a row must be a JSON object, got null"],
  ["a string", '"hi"', 'a row must be a JSON object, got "hi"'],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "not valid UTF-8"],
  ["attributes text", '{"attributes":"a=b"}', 'attributes must be a JSON object, got "a=b"'],
  ["attributes an array", '{"attributes":[]}', "attributes must be a JSON object, got an array"],
  ["timestamp text", '{"timestamp":"today"}', `timestamp must be ${rowTime}, got "today"`],
  ["timestamp fractional", '{"timestamp":1.5}', `timestamp must be ${rowTime}, got 1.5`],
  ["timestamp beyond numbers", '{"timestamp":1e999}', `timestamp must be ${rowTime}, got Infinity`],
  ["timestamp an object", '{"timestamp":{}}', `timestamp must be ${rowTime}, got an object`],
  [
    "timeUnixNano fractional",
    '{"timeUnixNano":"1.5"}',
    'timeUnixNano must be an integer, Unix time in nanoseconds, got "1.5"',
  ],
  ["the year 1754", `{"timestamp":${Date.UTC(1754, 0)}}`, early],
  ["the year 3000", `{"timestamp":${Date.UTC(3000, 0)}}`, late],
  ["negative", '{"timestamp":-1}', early],
  ["the largest integer", `{"timestamp":${Number.MAX_SAFE_INTEGER}}`, late],
  [
    "more digits than any time",
    `{"timestamp":${"9".repeat(400)}}`,
    `timestamp must be ${rowTime}, got Infinity`,
  ],
  ["nanoseconds of the year 3000", `{"timeUnixNano":"${Date.UTC(3000, 0)}000000"}`, late],
  [
    "an attribute key of 10 KB",
    `{"attributes":{"${"k".repeat(10_240)}":"v"}}`,
    `attribute key "${"k".repeat(40)}…" is longer than 1024 bytes`,
  ],
  [
    "an attribute of 1 MB",
    `{"attributes":{"k":"${"v".repeat(1_000_000)}"}}`,
    'attribute "k" is longer than 262144 bytes',
  ],
  ["a message of 3 MB", `{"message":"${"m".repeat(3_000_000)}"}`, "the message is longer than 2097152 bytes"],
  ["1,001 attributes", JSON.stringify({ attributes: keys(1_001) }), "more than 1000 attributes"],
  ["100,000 attributes", JSON.stringify({ attributes: keys(100_000) }), "more than 10000 attributes"],
  ["nested 100,000 deep", `{"message":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "nested too deeply"],
];

function keys(number: number, first = 0): Record<string, number> {
  return Object.fromEntries(Array.from({ length: number }, (_, i) => [`k${first + i}`, i]));
}

describe("POST /api/v1/ingest/logs", () => {
  test.each(rows)("%s is refused with its line, the rest is taken", async (_name, row, reason) => {
    const body = Buffer.concat([
      Buffer.from(lines([kept])),
      Buffer.from(row as string),
      Buffer.from(`\n${lines([kept])}`),
    ]);
    const got = await ingest(server, body as Uint8Array<ArrayBuffer>);
    expect(got.status).toBe(200);
    expect(got.json).toMatchObject({ accepted: 2, refused: 1 });
    expect(got.json.errors).toEqual([{ line: 2, reason }]);
  });

  test("a body in which no row is good gives 400", async () => {
    const got = await ingest(server, "hello\nworld\n");
    expect(got.status).toBe(400);
    expect(got.json.error).toBe(
      `all 2 rows were refused; line 1: not JSON: Unexpected token 'h', "hello" is not valid JSON`,
    );
    expect(got.json).toMatchObject({ accepted: 0, refused: 2, duplicate: false });
  });

  test("of many refused rows the first hundred are listed and all are counted", async () => {
    const got = await ingest(server, `${"x\n".repeat(1_000)}${lines([kept])}`);
    expect(got.json).toMatchObject({ accepted: 1, refused: 1_000 });
    expect(got.json.errors.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  });

  test("100,000 distinct keys over as many rows are taken", async () => {
    const body = lines(
      Array.from({ length: 100_000 }, (_, i) => ({ timestamp: now, message: "m", [`key${i}`]: i })),
    );
    const got = await ingest(server, body);
    expect(got.json).toMatchObject({ accepted: 100_000, refused: 0 });
  });

  test("rows that bring more distinct keys than a body may have are refused", async () => {
    const body = lines(
      Array.from({ length: 135 }, (_, i) => ({ timestamp: now, attributes: keys(1_000, i * 1_000) })),
    );
    const got = await ingest(server, body);
    expect(got.json).toMatchObject({ accepted: 131, refused: 4 });
    const reason = "the body has more than 131072 distinct attribute keys";
    expect(got.json.errors).toEqual([132, 133, 134, 135].map((line) => ({ line, reason })));
  });

  test("a body of more than a million rows gives 413", async () => {
    const got = await ingest(server, "{}\n".repeat(1_000_001));
    expect([got.status, got.json]).toEqual([
      413,
      { error: "the body has more than 1000000 rows: send it in smaller parts" },
    ]);
  }, 30_000);

  test("an unfinished JSON array is refused whole", async () => {
    const got = await ingest(server, `[${JSON.stringify(kept)}`);
    expect(got.status).toBe(400);
    expect(got.json).toEqual({ error: "the body is a JSON array without an end" });
  });

  test("what curl -d sends is refused, since it eats newlines", async () => {
    const got = await ingest(server, lines([kept]), { "Content-Type": "application/x-www-form-urlencoded" });
    expect(got.status).toBe(415);
  });

  test("a body of 100 MB gives 413", async () => {
    const got = await ingest(server, new Uint8Array(100_000_000));
    expect(got.status).toBe(413);
    expect(got.json).toEqual({ error: "the body is larger than 67108864 bytes: send it in smaller parts" });
  });

  test.each(["", "k".repeat(257)])("an Idempotency-Key of a wrong length is refused", async (key) => {
    const got = await ingest(server, lines([kept]), { "Idempotency-Key": key });
    expect(got.status).toBe(400);
    expect(got.json).toMatchObject({
      error: `Idempotency-Key must have 1 to 256 characters, got ${key.length}`,
    });
  });
});
