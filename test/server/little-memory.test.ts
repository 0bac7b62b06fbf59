/** A server with the least memory: it takes rows and answers, and refuses with a sentence what does not fit. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryBytesMin } from "../../engine/index.ts";
import { memoryBytesMin as flagBytesMin } from "../../server/command/flags/shared-flags.ts";
import { call, ingest, lines, post, type Running, search, startServer } from "./running.ts";

const rows = 60_000;
const bodyRows = 12_000;
const startMs = Date.now() - 60_000;
let server: Running;

/** A row has an id of its own, which is long, and one of ten services. */
const rowOf = (i: number) => ({
  timestamp: startMs + i,
  log_level: i % 100 === 0 ? "error" : "info",
  message: `request ${i} took ${i % 977} ms`,
  attributes: { id: `${i} `.padEnd(150, "x"), service: `s${i % 10}` },
});

beforeAll(async () => {
  server = await startServer({ memoryBytes: memoryBytesMin });
  for (let from = 0; from < rows; from += bodyRows) {
    const body = lines(Array.from({ length: bodyRows }, (_, i) => rowOf(from + i)));
    expect((await ingest(server, body)).json).toMatchObject({ accepted: bodyRows, refused: 0 });
  }
}, 60_000);
afterAll(() => server.stop());

const count = async (query: string, bucketSize = 3_000_000_000) =>
  post<{ series: { labels: Record<string, string>; points: [number, number][] }[] }>(server, "timeseries", {
    query,
    bucketSize,
  });

test("the flag knows the least memory that the engine runs with", () => {
  expect(flagBytesMin).toBe(memoryBytesMin);
});

test("counts, searches and groups are answered, before and after the rows are in chunks", async () => {
  for (const seals of [false, true]) {
    if (seals) await server.service.store.seal();
    const all = await count("count(logs)");
    expect(all.json.series[0]!.points[0]![1]).toBe(rows);
    const services = await count("count(logs) by (service)");
    expect(services.json.series.map(({ points }) => points[0]![1])).toEqual(new Array(10).fill(rows / 10));
    const rare = await search(server, { query: 'logs |= "request 31415 "' });
    expect(rare.json.logs).toHaveLength(1);
    const newest = await search(server, { query: "logs", limit: 100 });
    expect(newest.json.logs[0]!.message).toBe(rowOf(rows - 1).message);
  }
});

test("chunks are no larger than they can be encoded with little memory", () => {
  const { rows: stored, chunks } = server.service.store.stats().signals.logs;
  expect(stored).toBe(rows);
  expect(chunks).toBeGreaterThanOrEqual(Math.floor(rows / server.service.memory.chunkCaps.rowsMax));
});

test("too many groups, and too many rows, are refused with what to do; the next search is answered", async () => {
  const groups = await count("count(logs) by (id)");
  expect(groups.status).toBe(400);
  expect((groups.json as unknown as { error: string }).error).toMatch(
    /group by fewer labels|ask for fewer groups/,
  );
  const long = "y".repeat(1_000_000);
  const body = lines(
    Array.from({ length: 5 }, (_, i) => ({ timestamp: startMs, message: `long ${i} ${long}` })),
  );
  expect((await ingest(server, body)).json.accepted).toBe(5);
  const found = await search(server, { query: 'logs |= "long"', limit: 100 });
  expect(found.status).toBe(400);
  expect(found.json.error).toMatch(
    /^the rows found are larger than \d+ bytes together; ask for fewer rows at a time$/,
  );
  expect((await search(server, { query: 'logs |= "request 27182 "' })).json.count).toBe(1);
});

test("many heavy searches at once end with answers or sentences, and leave nothing behind", async () => {
  const ask = () => count("count(logs) by (id)", 10);
  const heavy = await Promise.all(Array.from({ length: 12 }, ask));
  for (const { status, json } of heavy) {
    expect([200, 400]).toContain(status);
    if (status === 400)
      expect((json as unknown as { error: string }).error).toMatch(/^[a-z].*; (?:ask|group)/);
  }
  expect((await count("count(logs) by (service)")).status).toBe(200);
});

test("a body that its sender can never have room for is refused as too large", async () => {
  const { requestBytes, unpackedBytesMax } = server.service.memory;
  const packed = Buffer.alloc(Math.floor(requestBytes / 2) + 1, 0x20);
  const got = await ingest(server, packed);
  expect(got.status).toBe(413);
  expect(got.json.error).toMatch(/^the body is larger than \d+ bytes: send it in smaller parts$/);
  expect(unpackedBytesMax).toBeLessThan(128 * 2 ** 20);
});

test("the division is in the metrics", async () => {
  const { text } = await call(server, "/metrics", { token: server.adminToken });
  const parts = [...text.matchAll(/^svc_memory_part_limit_bytes\{part="\w+"\} (\d+)$/gm)].map(
    (match) => +match[1]!,
  );
  expect(parts).toHaveLength(Object.keys(server.service.memory.parts).length);
  expect(parts.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(memoryBytesMin);
  expect(text).toContain(`svc_memory_limit_bytes ${memoryBytesMin}\n`);
});
