/** POST /api/v1/query/logs against an array that knows better. */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry, Running } from "../running.ts";
import { call, ingest, lines, search, startServer } from "../running.ts";

let server: Running;
const start = Date.UTC(2026, 0, 29);
/** Many rows to a millisecond, in no order, so that ties matter. */
const rows: Entry[] = Array.from({ length: 3_000 }, (_, i) => ({
  timestamp: start + ((i * 7919) % 500),
  log_level: ["info", "WARN", "error"][i % 3]!,
  message: `row ${i} of the flock`,
  attributes: { "service.name": `/k8s/shop/${i % 5}`, i: String(i) },
}));

beforeAll(async () => {
  server = await startServer();
  for (let i = 0; i < rows.length; i += 1_000) await ingest(server, lines(rows.slice(i, i + 1_000)));
});
afterAll(() => server.stop());

/** Newest first, ties in the order of arrival. */
function expected(startTime: number, endTime: number): Entry[] {
  return rows
    .filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime)
    .map((row, arrival) => ({ row, arrival }))
    .sort((a, b) => b.row.timestamp - a.row.timestamp || a.arrival - b.arrival)
    .map(({ row }) => row);
}

describe("the range", () => {
  test.each([
    ["all", start, start + 499],
    ["one millisecond", start + 7, start + 7],
    ["after the last", start + 500, start + 10_000],
    ["before the first", 0, start - 1],
    ["from the beginning of time to its end", 0, 8_640_000_000_000_000],
  ])("%s: both ends count", async (_name, startTime, endTime) => {
    const { json } = await search(server, { startTime, endTime, limit: 1_000 });
    const all = expected(startTime, endTime);
    expect(json.logs).toEqual(all.slice(0, 1_000));
    expect(json.count).toBe(Math.min(1_000, all.length));
    expect(json.cursor === undefined).toBe(all.length <= 1_000);
  });

  test("endTime covers its whole millisecond", async () => {
    const own = await startServer();
    await ingest(
      own,
      `{"timeUnixNano":"${start}999999","message":"last nanosecond"}\n{"timeUnixNano":"${start + 1}000000"}\n`,
    );
    expect(
      (await search(own, { startTime: start, endTime: start })).json.logs.map(({ message }) => message),
    ).toEqual(["last nanosecond"]);
    await own.stop();
  });
});

test("limit is 100 unless said otherwise", async () => {
  expect((await search(server)).json.count).toBe(100);
  expect((await search(server, { limit: null })).json.count).toBe(100);
});

test("the cursor pages through everything once, in order, whatever the page", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 90, max: 1_000 }),
      fc.integer({ min: 0, max: 499 }),
      async (limit, from) => {
        const seen: Entry[] = [];
        let cursor: string | undefined;
        do {
          const query = {
            startTime: start + from,
            endTime: start + 499,
            limit,
            ...(cursor === undefined ? {} : { cursor }),
          };
          const { json } = await search(server, query);
          expect(json.count).toBe(json.logs.length);
          seen.push(...json.logs);
          cursor = json.cursor;
        } while (cursor !== undefined);
        expect(seen).toEqual(expected(start + from, start + 499));
      },
    ),
    { numRuns: 15 },
  );
});

test("a cursor that is none is refused", async () => {
  for (const cursor of ["", "x", "1_2_3", "-1_5", `${"9".repeat(100)}`]) {
    const got = await search(server, { cursor });
    expect(got.status).toBe(400);
    expect(got.json.error).toMatch(/cursor/);
  }
});

test("an error of the query language comes with a caret", async () => {
  const got = await search(server, { query: "{service.name=}" });
  expect(got.status).toBe(400);
  expect(got.json.error).toMatch(/line 1, column 15[\s\S]*\n {2}\{service\.name=\}\n {16}\^/);
});

test("a name that nothing bears gives a warning with what was probably meant", async () => {
  const { json } = await search(server, { query: '{servce.name="a"}' });
  expect(json.logs).toEqual([]);
  expect(json.warnings?.join()).toContain("service.name");
});

test("a pattern that would hang other engines is answered, and other queries go on", async () => {
  const own = await startServer();
  await ingest(own, lines([{ timestamp: start, message: "a".repeat(1_048_576) }]));
  const slow = search(own, { query: '{} |~ "(a+)+$"' });
  expect((await search(own)).status).toBe(200);
  expect([200, 503]).toContain((await slow).status);
  await own.stop();
});

test("a client that goes away ends its search", async () => {
  const abort = new AbortController();
  const gone = fetch(`${server.url}/api/v1/query/logs`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query: '{} |~ "(x+y?)+z{1,500}"', startTime: 0, endTime: start + 500 }),
    signal: abort.signal,
  });
  setTimeout(() => abort.abort(), 5);
  await gone.catch(() => undefined);
  await expect.poll(async () => (await call(server, "/metrics")).text).toContain("svc_queries_in_flight 0\n");
});
