/** Searches through the public face, over sealed rows and rows that are not sealed yet. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { type LogSearchResult, QueryError, searchLogs } from "../../../query/index.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-query-"));
const startMs = 1_763_560_800_000;
let store: Store;

function makeRow(offsetNs: bigint, message: string, attributes: Record<string, string> = {}): LogRow {
  return { timeNs: BigInt(startMs) * 1_000_000n + offsetNs, level: "INFO", message, attributes };
}

const rows = [
  makeRow(-1n, "before"),
  makeRow(0n, "first", { "service.name": "cart", "k8s.namespace.name": "shop" }),
  makeRow(999_999n, "last of the first millisecond", { "service.name": "cart" }),
  makeRow(1_000_000n, "second", { "service.name": "web", duration_ms: "12" }),
  ...Array.from({ length: 25 }, (_, index) => makeRow(2_000_000n, `tie ${index}`, { "service.name": "tie" })),
  makeRow(3_000_000n, '{"status":500,"service.name":"inner"}', { "service.name": "api" }),
];

beforeAll(async () => {
  store = await openStore({ dir, threads: 1, now: () => startMs + 60_000 });
  await store.append("logs", rows.slice(0, 10));
  await store.seal();
  await store.append("logs", rows.slice(10));
});

afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

function search(
  query: string,
  more: { startMs?: number; endMs?: number; limit?: number; cursor?: string } = {},
) {
  return searchLogs(store, { query, startMs, endMs: startMs + 10, limit: 100, ...more });
}

const messages = ({ rows }: LogSearchResult) => rows.map(({ message }) => message);

describe("bounds", () => {
  test("are inclusive, the end with its whole millisecond", async () => {
    expect(messages(await search("", { endMs: startMs }))).toEqual([
      "last of the first millisecond",
      "first",
    ]);
    expect(messages(await search("", { startMs: startMs - 1, endMs: startMs - 1 }))).toEqual(["before"]);
    expect(messages(await search("", { startMs: startMs + 1, endMs: startMs + 1 }))).toEqual(["second"]);
    expect(messages(await search("", { startMs: startMs + 4 }))).toEqual([]);
  });
});

describe("answers", () => {
  test("come newest first and hold what stages extract", async () => {
    const { rows, cursor, warnings } = await search("logs | json | status >= 500");
    expect(rows.map(({ attributes }) => ({ ...attributes }))).toEqual([
      { "service.name": "api", status: "500", "service.name_extracted": "inner" },
    ]);
    expect(cursor).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("to search terms and to count(…) are rows", async () => {
    expect(messages(await search("FIRST OR duration_ms>10"))).toEqual([
      "second",
      "last of the first millisecond",
      "first",
    ]);
    expect(messages(await search('count(logs{service.name="web"})'))).toEqual(["second"]);
  });
});

describe("the cursor", () => {
  test("continues after the last row, also among rows of equal time", async () => {
    const all = messages(await search(""));
    expect(all.length).toBe(29);
    for (const limit of [1, 2, 7, 28, 29, 30]) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await search("", { limit, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...messages(page));
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(found, `pages of ${limit}`).toEqual(all);
    }
  });

  test("is refused when the store did not return it", async () => {
    const { cursor } = await search("", { limit: 1 });
    const last = cursor!.at(-1) === "A" ? "B" : "A";
    for (const bad of [
      "",
      "x",
      "💥",
      `${cursor!}A`,
      cursor!.slice(0, -1),
      cursor!.slice(0, -1) + last,
      "A".repeat(28),
      "A".repeat(1e6),
    ]) {
      await expect(search("", { cursor: bad }), bad.slice(0, 40)).rejects.toThrow(QueryError);
      await expect(search("", { cursor: bad })).rejects.toThrow(
        "cursor: expected the cursor of an earlier answer, unchanged, or none to begin with the first row",
      );
    }
  });
});

describe("names that no row has", () => {
  test.each([
    ['{sevice.name="cart"}', 'no row has the attribute "sevice.name"; did you mean "service.name"?'],
    ['{namespace="shop"}', 'no row has the attribute "namespace"; did you mean "k8s.namespace.name"?'],
    ['{level="info"}', 'no row has the attribute "level"; did you mean "log_level"?'],
    ["SERVICE.NAME=cart", 'no row has the attribute "SERVICE.NAME"; did you mean "service.name"?'],
    ['{zzzzzzzzzzzz="x"}', 'no row has the attribute "zzzzzzzzzzzz"'],
    ['{__proto__="x"}', 'no row has the attribute "__proto__"'],
  ])("%s", async (query, warning) => {
    const { rows, warnings } = await search(query);
    expect(rows).toEqual([]);
    expect(warnings).toEqual([warning]);
  });

  test("are not warned of where rows of another time have them, or a stage extracts them", async () => {
    expect((await search('{duration_ms!="x"}', { startMs: startMs + 3 })).warnings).toEqual([]);
    expect((await search('logs | json | anything="x"')).warnings).toEqual([]);
    expect((await search('logs | regexp "(?P<n>.)" | n="x" or m="y"')).warnings).toEqual([
      'no row has the attribute "m"',
    ]);
  });
});

test("a wrong query is refused before the store is asked", async () => {
  await expect(search("logs{")).rejects.toThrow(QueryError);
});
