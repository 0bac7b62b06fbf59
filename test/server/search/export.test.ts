/** GET and POST /api/v1/query/export against the rows that were sent. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { exportRows } from "../../../server/search/export-rows.ts";
import { ask } from "../control/asking.ts";
import { call, type Entry, ingest, lines, type Running, startServer } from "../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 29, 12);
const range = { startTime: startMs, endTime: startMs + 3_600_000 };
const odd = ["=1+1", "-5", "a,b", 'say "x"', "two\nlines", "+49 30", "@cmd", " plain ", "ü€😀", "\tx"];
let server: Running;
const rows: Entry[] = [];

beforeAll(async () => {
  server = await startServer();
  const random = new Random(seed);
  for (let i = 0; i < 12_500; i++) {
    rows.push({
      timestamp: startMs + random.below(3_600_000),
      log_level: random.pick(["info", "error"]),
      message: `row ${i} ${random.pick(odd)}`,
      attributes: {
        "service.name": `/k8s/shop/s${i % 3}`,
        odd: random.pick(odd),
        ...(i % 9 === 0 ? { rare: String(i) } : {}),
      },
    });
  }
  await ingest(server, lines(rows.slice(0, 7_000)));
  await server.service.store.seal();
  await ingest(server, lines(rows.slice(7_000)));
});
afterAll(() => server.stop());

async function exported(body: object, token = server.adminToken): Promise<Response> {
  return fetch(`${server.url}/api/v1/query/export`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ ...range, ...body }),
  });
}

const textOf = ({ message }: Entry) => message;
const entriesOf = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry);

/** Cells of CSV by RFC 4180, read character by character. */
function parseCsv(text: string): string[][] {
  const table: string[][] = [];
  let line: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (isQuoted && char === '"' && text[i + 1] === '"') cell += text[++i]!;
    else if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && char === ",") {
      line.push(cell);
      cell = "";
    } else if (!isQuoted && char === "\r") {
      expect(text[++i]).toBe("\n");
      table.push([...line, cell]);
      line = [];
      cell = "";
    } else cell += char;
  }
  expect([isQuoted, line, cell]).toEqual([false, [], ""]);
  return table;
}

describe(`an export (SVC_SEED=${seed})`, () => {
  test("has every row once, in the order asked for, and can be sent again", async () => {
    const response = await exported({});
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe(
      'attachment; filename="logs-2026-01-29T12-00-00Z.ndjson"',
    );
    const text = await response.text();
    const newest = entriesOf(text);
    expect(newest.map(textOf).sort()).toEqual(rows.map(textOf).sort());
    expect(newest.every((row, i) => i === 0 || row.timestamp <= newest[i - 1]!.timestamp)).toBe(true);
    const oldest = entriesOf(await (await exported({ order: "oldest" })).text());
    expect(oldest).toEqual(newest.toReversed());
    const other = await startServer();
    try {
      expect((await ingest(other, text)).json).toMatchObject({ accepted: rows.length, refused: 0 });
    } finally {
      await other.stop();
    }
  });

  test("follows the query, and as a link as well", async () => {
    const expected = rows
      .filter(({ attributes }) => attributes["service.name"] === "/k8s/shop/s1")
      .map(textOf)
      .sort();
    const query = '{service.name="/k8s/shop/s1"}';
    expect(
      entriesOf(await (await exported({ query })).text())
        .map(textOf)
        .sort(),
    ).toEqual(expected);
    const parameters = new URLSearchParams({
      query,
      startTime: String(startMs),
      endTime: String(range.endTime),
    });
    const link = await call(server, `/api/v1/query/export?${parameters}`, { token: server.adminToken });
    expect(entriesOf(link.text).map(textOf).sort()).toEqual(expected);
  });

  test("is a table for spreadsheets, which take nothing for a formula", async () => {
    const [head, ...table] = parseCsv(
      await (await exported({ format: "csv", columns: ["odd", "message"] })).text(),
    );
    expect(head).toEqual(["timestamp", "log_level", "message", "odd", "attributes"]);
    const byMessage = new Map(table.map((cells) => [cells[2]!, cells]));
    expect(byMessage.size).toBe(rows.length);
    for (const { timestamp, log_level, message, attributes } of rows) {
      const { odd: value, ...rest } = attributes;
      const shown = ["=1+1", "+49 30", "@cmd", "\tx"].includes(value!) ? `'${value}` : value;
      const cells = [new Date(timestamp).toISOString(), log_level, message, shown, JSON.stringify(rest)];
      expect(byMessage.get(message)).toEqual(cells);
    }
    // Without names, every attribute that occurs has a column.
    const [all] = parseCsv(await (await exported({ format: "csv" })).text());
    expect(all).toEqual(["timestamp", "log_level", "message", "odd", "service.name", "rare", "attributes"]);
  });

  test("of spans has what their search has", async () => {
    const span = {
      traceId: `${"0".repeat(31)}1`,
      name: "GET /",
      statusCode: "error",
      attributes: { a: "b" },
    };
    const times = { startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${startMs + 5}000000` };
    const spans = [1, 2].map((id) => ({ ...span, ...times, spanId: `000000000000000${id}` }));
    expect((await ingest(server, lines(spans), {}, "spans")).json.accepted).toBe(2);
    const found = (await (await exported({ signal: "traces" })).text()).trim().split("\n");
    const { json } = await ask<{ spans: unknown[] }>(server, "POST", "/query/traces", {
      query: "",
      ...range,
    });
    expect(found.map((line) => JSON.parse(line))).toEqual(json.spans);
    const [head, first] = parseCsv(await (await exported({ signal: "traces", format: "csv" })).text());
    expect(Object.fromEntries(head!.map((name, i) => [name, first![i]]))).toMatchObject({
      ...{ durationMs: "5", name: "GET /", statusCode: "error", a: "b" },
    });
  });

  test("ends with an error once its reader may no longer read", async () => {
    const asked = {
      signal: "logs",
      query: "",
      format: "ndjson",
      order: "newest",
      columns: undefined,
    } as const;
    let checks = 0;
    const storeOf = async () => {
      if (++checks > 2) throw new Error("revoked");
      return server.service.store;
    };
    const times = { startMs, endMs: range.endTime };
    const { pieces } = await exportRows({ ...asked, ...times }, storeOf, {});
    let text = "";
    const readAll = async () => {
      for await (const piece of pieces) text += Buffer.from(piece).toString();
    };
    await expect(readAll()).rejects.toThrow("revoked");
    expect(text.length).toBeGreaterThan(100_000);
    expect(text.split("\n").length).toBeLessThan(rows.length);
  });

  test("takes its place among the searches only while it is read", async () => {
    for (let i = 0; i < 100; i++) {
      const aborting = new AbortController();
      const response = await fetch(`${server.url}/api/v1/query/export`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(range),
        signal: aborting.signal,
      });
      expect(response.status).toBe(200);
      aborting.abort();
    }
    await expect
      .poll(async () => (await call(server, "/metrics", { token: server.adminToken })).text)
      .toMatch(/^svc_queries_in_flight 0$/m);
  });

  test.each<[object, string]>([
    [{ query: "{a=" }, "query"],
    [{ format: "xml" }, "format"],
    [{ signal: "metrics" }, "signal"],
    [{ startTime: 5, endTime: 4 }, "startTime"],
    [{ columns: Array.from({ length: 101 }, (_, i) => `c${i}`) }, "columns"],
  ])("%j is refused at %s", async (body, field) => {
    const response = await exported(body);
    const answer = (await response.json()) as { field?: string; error: string };
    expect([response.status, answer.field ?? answer.error]).toEqual([
      400,
      field === "query" ? expect.any(String) : field,
    ]);
  });
});
