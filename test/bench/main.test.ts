import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { questionShapes } from "../../bench/datasets/question.ts";
import { listMissedAims } from "../../bench/report/aims.ts";
import type { Report } from "../../bench/report/report.ts";
import {
  formatAnswerDifference,
  hashAnswer,
  toRowAnswer,
  toTopAnswer,
  toValueAnswer,
} from "../../bench/systems/answer.ts";

/** One of each way to ask. */
const kinds = ["absent", "regex", "newestWord", "byService", "byMinuteLevel", "topValues", "trace"] as const;
const main = new URL("../../bench/main.ts", import.meta.url).pathname;
/** The servers that it starts know no seed. */
const { SVC_SEED: _, ...env } = process.env;
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

describe("answers", () => {
  const row = (timeNs: bigint, message: string, attributes: [string, string][] = []) => ({
    timeNs,
    level: "info",
    message,
    attributes,
  });

  test("are equal whatever the order of rows and attributes, and empty attributes are none", () => {
    const [a, b] = [row(2n, "a", [["x", "1"]]), row(1n, "b")];
    const other = row(2n, "a", [
      ["y", ""],
      ["x", "1"],
    ]);
    expect(hashAnswer(toRowAnswer([a, b], 100))).toBe(hashAnswer(toRowAnswer([b, other], 100)));
    expect(hashAnswer(toRowAnswer([a, b], 100))).not.toBe(hashAnswer(toRowAnswer([a, row(1n, "c")], 100)));
  });

  test("of a cut list leave out what could as well be another row", () => {
    const rows = [row(3n, "a"), row(2n, "b"), row(1n, "c")];
    expect(toRowAnswer(rows, 3)).toEqual(toRowAnswer([rows[0]!, rows[1]!, row(1n, "other")], 3));
    const groups = [[["a"], 0, 9] as const, [["b"], 0, 5] as const];
    expect(toTopAnswer(groups, 2)).toEqual(toTopAnswer([groups[0]!, [["c"], 0, 5]], 2));
    expect(toTopAnswer(groups, 3)).toHaveLength(2);
  });

  test("of calculated values agree whatever the order of their numbers, and tell others apart", () => {
    const answer = (value: number) => toValueAnswer([[["a"], 0, value]]);
    expect(answer(0.1 + 0.2 + 0.3)).toEqual(answer(0.3 + 0.2 + 0.1));
    // Halves of the last digit that is kept: each system may come out on another side.
    expect(answer(43.75042645)).toEqual(answer(43.75042645 + 7e-15));
    expect(answer(43.75042645)).toEqual(answer(43.75042645 - 7e-15));
    expect(answer(1.00000001)).not.toEqual(answer(1));
  });

  test("that differ are shown, each side's lines with its sign", () => {
    expect(formatAnswerDifference(["1", "2"], ["2", "3"], 10)).toBe("  - 1\n  + 3");
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
