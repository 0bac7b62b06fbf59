import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { questionShapes } from "../../bench/datasets/question.ts";
import { listMissedAims } from "../../bench/report/aims.ts";
import type { Report } from "../../bench/report/report.ts";

/** At least one kind for each form of answer. */
const kinds = ["absent", "newestWord", "byMinuteLevel", "topValues"] as const;
const main = new URL("../../bench/main.ts", import.meta.url).pathname;
/** A seed of the tests must not reach the servers that the benchmark starts. */
const { SVC_SEED: _, ...inherited } = process.env;
/** Each of its processes would else strip the types of all sources. */
const bundled = `--import=${new URL("../bundled-layers.ts", import.meta.url).href}`;
const env = { ...inherited, NODE_OPTIONS: `${inherited.NODE_OPTIONS ?? ""} ${bundled}` };
const bench = (args: readonly string[]) => promisify(execFile)(process.execPath, [main, ...args], { env });

describe("the benchmark, on a few rows and without peers", () => {
  let dir = "";
  let table = "";
  let report: Report;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
    const json = join(dir, "report.json");
    const files = ["--json", json, "--data", join(dir, "data")];
    const few = ["--rows", "20_000", "--rounds", "1", "--sets", "system", "--peers", "none"];
    const { stdout } = await bench([...few, "--only", kinds.join(","), ...files]);
    table = stdout;
    report = JSON.parse(await readFile(json, "utf8"));
  }, 120_000);
  afterAll(() => rm(dir, { recursive: true }));

  test("asks the queries, warm and cold", () => {
    const { queries, load } = report.sets[0]!.systems[0]!;
    expect(queries.map(({ kind }) => kind)).toEqual(kinds);
    for (const { warmMs, coldMs } of queries) {
      expect(warmMs.median).toBeGreaterThan(0);
      expect(coldMs.runs).toBe(1);
    }
    expect(load.rows).toBe(20_000);
    expect(load.diskBytes).toBeGreaterThan(100_000);
  });

  test("prints what it keeps", () => {
    for (const kind of kinds) expect(table).toContain(questionShapes[kind].name);
    expect(table).toContain(`Node ${process.version}`);
  });

  test("misses no aim where there is nothing to compare with", () => {
    expect(listMissedAims(report)).toEqual([]);
  });

  test("misses the aims that a faster peer sets", () => {
    const [set] = report.sets;
    const [own] = set!.systems;
    const faster = own!.queries.map((query) => ({ ...query, warmMs: { ...query.warmMs, median: 0.0001 } }));
    const peer = { ...own!, system: "duckdb" as const, queries: faster };
    const missed = listMissedAims({ ...report, sets: [{ ...set!, systems: [own!, peer] }] });
    for (const kind of kinds)
      expect(missed.some((miss) => miss.includes(questionShapes[kind].name))).toBe(true);
  });
});

describe("the benchmark of spans and metrics, on a few rows and without peers", () => {
  const kinds = ["tracesByHour", "gaugeAverage", "seriesIncrease"];
  let dir = "";
  let report: Report;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
    const json = join(dir, "report.json");
    const files = ["--json", json, "--data", join(dir, "data"), "--train-ticket", join(dir, "none")];
    const few = ["--rows", "6_000", "--rounds", "1", "--peers", "none", "--only", kinds.join(",")];
    await bench([...few, ...files]);
    report = JSON.parse(await readFile(json, "utf8"));
  }, 120_000);
  afterAll(() => rm(dir, { recursive: true }));

  test("asks each set its own questions", () => {
    const asked = report.sets.map(({ name, rows, systems }) => ({
      name,
      rows,
      kinds: systems[0]!.queries.map(({ kind }) => kind),
    }));
    expect(asked).toEqual([
      { name: "spans", rows: 6000, kinds: ["tracesByHour"] },
      { name: "gauges", rows: 3000, kinds: ["gaugeAverage"] },
      { name: "counters", rows: 3000, kinds: ["seriesIncrease"] },
    ]);
  });

  test("gets an answer to each", () => {
    for (const { systems } of report.sets) {
      for (const { warmMs, failure } of systems[0]!.queries) {
        expect(failure).toBeUndefined();
        expect(warmMs.median).toBeGreaterThan(0);
      }
    }
  });
});

test.each([
  [["--rwos", "5"], "Unknown option '--rwos'"],
  [["--rows", "many"], "--rows must be a whole number"],
  [["--peers", "sqlite"], '"sqlite" is none of duckdb, clickhouse, ripgrep'],
  [["--only", "rare,quick"], '"quick" is none of'],
])("%j is refused with the usage", async (args, sentence) => {
  const failed = await bench(args).catch((error) => error);
  expect(failed.code).toBe(2);
  expect(failed.stderr).toContain(sentence);
  expect(failed.stderr).toContain("Usage: npm run bench");
});
