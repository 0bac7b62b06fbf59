/** What missing rows can do: to the values of a query, to a verdict; and how the server notices that it was away. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { AliveFile } from "../../../server/alerts/alive-file.ts";
import { shapeOf } from "../../../server/alerts/query/query-shape.ts";
import { Downtime } from "../../../server/alerts/state/downtime.ts";
import { awaitRows } from "../../../server/alerts/state/incomplete-buckets.ts";
import { verdictState } from "../../../server/alerts/state/verdict.ts";
import { Disk } from "./disk.ts";
import { naiveOpenState, windowOf } from "./naive.ts";
import { alertOf, ruleOf, World } from "./world.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

test.each([
  ['count(logs{log_level="error"})', "raise"],
  ["count(logs{}) by (service.name)", "raise"],
  ["sum(rate(logs{}))", "raise"],
  ["count_distinct(trace_id, traces{})", "raise"],
  ["max(duration_ms, traces{})", "raise"],
  ["min(duration_ms, traces{})", "lower"],
  ["sum(duration_ms, traces{})", "change"],
  ["avg(duration_ms, traces{})", "change"],
  ["quantile(0.95, duration_ms, traces{})", "change"],
  ["sum(increase(requests_total{}))", "raise"],
  ["sum(rate(requests_total{}))", "raise"],
  ["avg(cpu_usage)", "change"],
  ["count(logs{}[5m])", "raise"],
  ["sum(rate(logs{}[5m]))", "raise"],
  ["sum(increase(requests_total[1h] offset 1d))", "raise"],
  ["max(max_over_time(cpu_usage[5m]))", "change"],
  ["count(logs{}) * 2 + 1", "raise"],
  ["0 - count(logs{})", "lower"],
  ["-count(logs{})", "lower"],
  ["count(logs{}) * -1", "lower"],
  ["count(logs{}) / 60", "raise"],
  ["100 / count(logs{})", "change"],
  ["count(logs{}) + count(traces{})", "raise"],
  ["count(logs{}) - count(traces{})", "change"],
  ['count(logs{log_level="error"}) / count(logs{})', "change"],
  ["count(logs{}) default 0", "raise"],
  ["count(logs{}) default 5", "change"],
  ["sum(count(logs{}) by (service.name))", "raise"],
  ["max(count(logs{}) by (service.name))", "raise"],
  ["min(count(logs{}) by (service.name))", "change"],
  ["avg(count(logs{}) by (service.name))", "change"],
  ["count(avg(duration_ms, traces{}) by (service.name))", "raise"],
  ["count(count(logs{}) by (service.name) > bool 5)", "raise"],
  ["count(count(logs{}) by (service.name) * 2)", "raise"],
  ["count_distinct(service.name, count(logs{}) by (service.name))", "raise"],
  ["count(count(logs{}) by (service.name) < 5)", "change"],
  ["count_distinct(service.name, count(logs{}) by (service.name) < 5)", "change"],
  ["count(count(logs{}) by (a) unless count(traces{}) by (a))", "change"],
  ["count(sum(count(logs{}) by (a, b) < 5) by (a))", "change"],
  ["count(absent(count(logs{})))", "change"],
] as const)("missing rows of %s: %s", (query, effect) => {
  expect(shapeOf(query).missing.effect).toBe(effect);
});

test(`a verdict with open buckets is what all that they may become lead to (SVC_SEED=${seed})`, () => {
  const anyCell = fc.record({
    value: fc.option(fc.integer({ min: 0, max: 10 }), { freq: 4 }),
    moves: fc.constantFrom(undefined, undefined, "rises", "falls", "moves"),
  });
  const effects = { rises: "raise", falls: "lower", moves: "change" } as const;
  fc.assert(
    fc.property(
      fc.array(anyCell, { minLength: 1, maxLength: 7 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 2 }),
      fc.constantFrom("notBreaching", "breaching", "ignore", "missing"),
      fc.constantFrom("greaterThan", "lessThanOrEqual", "equals", "notEquals"),
      (cells, m, more, missing, operator) => {
        const rule = ruleOf({ m, n: m + more, missing });
        rule.static.operators = [{ operator, threshold: 5 }];
        const got = verdictState(
          cells.map(({ value }) => value),
          rule.static,
          cells.length,
          cells.map(({ moves }) => (moves === undefined ? undefined : effects[moves])),
        );
        const wanted = naiveOpenState(
          cells.map(({ value, moves }) => (moves === undefined ? value : { value, moves })),
          windowOf(rule),
          "keep",
        );
        expect(got).toBe(wanted);
      },
    ),
    { seed, numRuns: 2_000 },
  );
});

test("rows are awaited after a downtime, longer where another one interrupts the wait, and not for ever", () => {
  let windowMs = 0;
  const until = (effect: "raise", spillsOver: boolean, startMs: number, ...gaps: [number, number][]) => {
    const awaited = {
      ...{
        bucketMs: 60_000,
        delayMs: 30_000,
        retryWaitMs: 300_000,
        effect,
        spillsOver,
        windowMs,
        offsetMs: 0,
      },
      gaps: (fromMs: number, toMs: number) => gaps.filter(([from, to]) => from < toMs && to > fromMs),
    };
    const found = awaitRows(startMs, awaited);
    return found === undefined ? undefined : [found.effect, found.untilMs! / 1_000];
  };
  expect(until("raise", false, 0, [50_000, 55_000])).toEqual(["raise", 355]);
  // Rows may not have been sent yet when the downtime began.
  expect(until("raise", false, 0, [89_000, 95_000])).toEqual(["raise", 395]);
  expect(until("raise", false, 0, [91_000, 95_000])).toBeUndefined();
  expect(until("raise", false, 0, [50_000, 55_000], [350_000, 360_000], [659_000, 700_000])).toEqual([
    "raise",
    1_000,
  ]);
  expect(until("raise", false, 0, [50_000, 55_000], [356_000, 360_000])).toEqual(["raise", 355]);
  const endless = Array.from({ length: 100 }, (_, i): [number, number] => [i * 100_000, i * 100_000 + 1_000]);
  expect(until("raise", false, 0, ...endless)).toEqual(["raise", 1 + 12 * 300]);
  // Increases over the gap count in the bucket after it.
  expect(until("raise", true, 60_000, [50_000, 55_000])).toEqual(["change", 355]);
  expect(until("raise", true, 0, [50_000, 70_000])).toEqual(["raise", 370]);
  // A window of five minutes looks at four buckets before.
  windowMs = 300_000;
  expect(until("raise", false, 240_000, [1_000, 2_000])).toEqual(["raise", 302]);
  expect(until("raise", false, 301_000, [1_000, 2_000])).toBeUndefined();
});

test("the file of signs of life survives its process, and a damaged one counts as none", () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-alive-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "alive");
  expect(new AliveFile(path).read()).toBeUndefined();
  const file = new AliveFile(path);
  file.write(1_769_676_120_000);
  file.write(1_769_676_121_000);
  expect(new AliveFile(path).read()).toBe(1_769_676_121_000);
  expect(readFileSync(path)).toHaveLength(27);
  file.close();
  writeFileSync(path, readFileSync(path, "latin1").replace("121000", "921000"));
  expect(new AliveFile(path).read()).toBeUndefined();
  const nowhere = new AliveFile(join(dir, "none", "alive"));
  nowhere.write(1);
  expect(nowhere.read()).toBeUndefined();
});

test("a downtime begins at the newest sign of life, and a gap that is not stored yet is not hidden by a mark", async () => {
  const disk = new Disk();
  let markMs: number | undefined;
  const mark = {
    read: () => markMs,
    write: (aliveMs: number) => {
      markMs = aliveMs;
    },
  };
  const first = new Downtime(disk.open(), 0, mark);
  for (let ms = 0; ms <= 14_000; ms += 500) await first.recordAlive(ms);
  expect(new Downtime(disk.open(), 20_000, mark).within(0, 100_000)).toEqual([[14_000, 20_000]]);
  // After a loss of power the mark may be gone: then more counts as downtime.
  expect(new Downtime(disk.open(), 20_000).within(0, 100_000)).toEqual([[0, 20_000]]);
  const second = new Downtime(disk.open(), 20_000, mark);
  disk.isFull = true;
  await expect(second.recordAlive(30_000)).rejects.toThrow("the disk is full");
  expect(markMs).toBe(14_000);
  await expect(second.recordStop(31_000)).rejects.toThrow("the disk is full");
  expect(markMs).toBe(14_000);
});

test("a clock that was ahead leaves no downtime in the future, and what was one before stays one", async () => {
  const disk = new Disk();
  const found = (downtime: Downtime) => downtime.within(0, 1_000 * hour);
  await new Downtime(disk.open(), 0).recordStop(0);
  const downtime = new Downtime(disk.open(), 10 * minute);
  for (let ms = 10 * minute; ms <= 20 * minute; ms += second) await downtime.recordAlive(ms);
  expect(found(downtime)).toEqual([[0, 10 * minute]]);
  for (const aheadMs of [4 * hour, 100 * hour]) {
    const beforeMs = 20 * minute;
    await downtime.recordAlive(beforeMs + aheadMs);
    await downtime.recordAlive(beforeMs + aheadMs + second);
    await downtime.recordAlive(beforeMs + second);
    const kept = [
      [0, 10 * minute],
      [beforeMs, beforeMs + second],
    ];
    expect(found(downtime)).toEqual(kept);
    expect(found(new Downtime(disk.open(), 21 * minute)).slice(0, 2)).toEqual(kept);
  }
});

test("a start before the clock is set right counts the real downtime alone", async () => {
  const disk = new Disk();
  await new Downtime(disk.open(), 0).recordStop(0);
  const ahead = new Downtime(disk.open(), 4 * hour);
  await ahead.recordAlive(4 * hour);
  // The process may also die before the clock is set right.
  expect(new Downtime(disk.open(), 6 * minute).within(0, 10 * hour)).toEqual([[0, 6 * minute]]);
  await ahead.recordAlive(5 * minute);
  expect(ahead.within(0, 10 * hour)).toEqual([[0, 5 * minute]]);
  const next = new Downtime(disk.open(), 7 * minute).within(0, 10 * hour);
  expect(next).toEqual([
    [0, 5 * minute],
    [5 * minute, 7 * minute],
  ]);
});

test("alerts fire as ever once a clock that was ahead for a moment is set right", async () => {
  const startMs = Date.UTC(2026, 0, 10, 12);
  const world = new World(startMs);
  const evaluator = world.open({ retryWaitMs: 5 * minute });
  await evaluator.upsert(alertOf("a", "q"));
  await evaluator.begin();
  await world.runUntil(startMs + 5 * minute);
  world.nowMs += 4 * hour;
  await evaluator.evaluateDue();
  world.nowMs -= 4 * hour - second;
  for (let m = -10; m < 90; m++) {
    world.put("q", { name: "x" }, startMs + m * minute, m >= 60 && m < 70 ? 9 : 1);
  }
  await world.runUntil(startMs + 90 * minute);
  expect(world.told()).toEqual(["fired x", "resolved x recovered"]);
  expect(world.messages()[0]!.event.firedAtMs).toBe(startMs + 61 * minute);
});

test("a stop while the disk is full is no failure, and the downtime begins at it", async () => {
  const world = new World(0);
  const disk = new Disk();
  const marks: number[] = [];
  const aliveMark = { read: () => marks.at(-1), write: (aliveMs: number) => void marks.push(aliveMs) };
  const evaluator = world.open({ state: disk.open(), aliveMark });
  await world.runUntil(14_000);
  disk.isFull = true;
  world.nowMs = 14_300;
  await evaluator.close();
  expect(world.logged).toEqual(["error the time of evaluation cannot be stored: the disk is full"]);
  expect(new Downtime(disk.open(), 20_000, aliveMark).within(0, 100_000)).toEqual([[14_300, 20_000]]);
});
