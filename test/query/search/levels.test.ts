/** Levels match as query/README.md's table of severity ranges says, in searches and in counts. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { queryTimeseries, searchLogs } from "../../../query/index.ts";

const reference = readFileSync(new URL("../../../query/README.md", import.meta.url), "utf8");
const ranges = ["trace", "debug", "info", "warn", "error", "fatal"];
/** The levels of each range, as the table lists them. */
const table = new Map(
  ranges.map((range) => {
    const [, cell = ""] = new RegExp(`^\\| \`${range}\` \\| (.*) \\|$`, "m").exec(reference) ?? [];
    return [range, [...cell.matchAll(/`([^`]+)`/g)].map(([, level]) => level!)];
  }),
);
const others = ["", "unknown", "errors", "constructor", "11", "ﬀatal"];
const sent = [...[...table.values()].flat(), ...others].flatMap((level) => [
  ...new Set([level, level.toUpperCase()]),
]);

const dir = mkdtempSync(join(tmpdir(), "svc-levels-"));
const startMs = 1_763_560_800_000;
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 1, now: () => startMs + 60_000 });
  const rows = sent.map((level, i) => ({
    timeNs: BigInt(startMs + i) * 1_000_000n,
    level,
    message: `row ${i}`,
    attributes: {},
  }));
  await store.append("logs", rows.slice(0, 90));
  await store.seal();
  await store.append("logs", rows.slice(90));
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** The levels that a search finds, as they come back. */
async function find(query: string): Promise<string[]> {
  const found = await searchLogs(store, { query, startMs, endMs: startMs + 1_000, limit: 1_000 });
  return found.rows.map(({ level }) => level).sort();
}

const isIn =
  (...of: string[]) =>
  (level: string) =>
    of.some((range) => table.get(range)!.includes(level.toLowerCase()));
const expected = (passes: (level: string) => boolean) => sent.filter(passes).sort();

test.each(ranges)("%s", async (range) => {
  expect(table.get(range)!.length).toBeGreaterThan(6);
  expect(await find(`{log_level="${range.toUpperCase()}"}`)).toEqual(expected(isIn(range)));
  expect(await find(`{log_level!="${range}"}`)).toEqual(expected((level) => !isIn(range)(level)));
  const query = `count(logs{log_level="${range}"})`;
  const { series } = await queryTimeseries(store, {
    query,
    startMs,
    endMs: startMs + 59_999,
    bucketSeconds: 60,
  });
  expect(series.map(({ points }) => points)).toEqual([[[startMs, expected(isIn(range)).length]]]);
});

test("patterns match the names of ranges", async () => {
  expect(await find('{log_level=~"warn|error"}')).toEqual(expected(isIn("warn", "error")));
  expect(await find('{log_level!~"warn|error"}')).toEqual(expected((level) => !isIn("warn", "error")(level)));
  const err = (level: string) => isIn("error")(level) || /^err/i.test(level);
  expect(await find('{log_level=~"err.*"}')).toEqual(expected(err));
  expect(await find("log_level:fatal")).toEqual(expected(isIn("fatal")));
});

test.each(["err", "Warning", "40", "errors"])("%s is only itself", async (level) => {
  const same = expected((each) => each.toLowerCase() === level.toLowerCase());
  expect(await find(`{log_level="${level}"}`)).toEqual(same);
  expect(await find(`{log_level=~"${level}"}`)).toEqual(same);
});

test("groups keep the levels of a range apart", async () => {
  const { series } = await queryTimeseries(store, {
    query: 'count(logs{log_level="warn"}) by (log_level)',
    startMs,
    endMs: startMs + 59_999,
    bucketSeconds: 60,
  });
  expect(series.map(({ labels }) => labels.log_level).sort()).toEqual([...table.get("warn")!].sort());
});
