/** Stages over several rows, over random rows in several chunks and parts, against a naive evaluator. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import {
  isOrderedStep,
  type PlanStep,
  planLogs,
  queryFields,
  queryHistogram,
  queryTimeseries,
  searchLogs,
} from "../../../query/index.ts";
import { runSteps } from "../naive.ts";
import {
  randomFormatQuery,
  randomQuery,
  randomRows,
  randomSpans,
  spanMs,
  startNs,
} from "./random-ordered.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const isLong = process.env.SVC_SOAK === "1";
const random = new Random(seed);
const rows = randomRows(random, 160);
const spans = randomSpans(random, 60);
const dir = mkdtempSync(join(tmpdir(), "svc-ordered-"));
const startMs = Number(startNs / 1_000_000n);
const range = { startMs, endMs: startMs + spanMs };
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 2 });
  for (let from = 0; from < rows.length; from += 40) {
    await store.append("logs", rows.slice(from, from + 40));
    if (from < 100) await store.seal();
  }
  await store.append("traces", spans.slice(0, 30));
  await store.seal();
  await store.append("traces", spans.slice(30));
});

afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** What the naive evaluator finds, in order of time. */
function findNaively(query: string): LogRow[] {
  return runSteps(planLogs(query).steps, rows, { traces: spans });
}

const plain = ({ timeNs, level, message, attributes }: LogRow) => ({
  ...{ timeNs, level, message },
  attributes: Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))),
});

/** Newest first, rows of equal time in the order in which they arrived. */
function newestFirst(found: readonly LogRow[]): LogRow[] {
  return found.toSorted((a, b) => Number(b.timeNs - a.timeNs));
}

const isBounded = (steps: readonly PlanStep[]): boolean =>
  steps.every((step) => {
    if (!isOrderedStep(step)) return true;
    return step.withinNs !== undefined && (step.kind !== "join" || isBounded(step.steps));
  });

test(`random queries find what the naive evaluator finds (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  for (let i = 0; i < (isLong ? 20_000 : 200); i++) {
    const query = randomQuery(random);
    const expected = newestFirst(findNaively(query));
    const { rows: found } = await searchLogs(store, { query, ...range, limit: 1_000 });
    expect(found.map(plain), query).toEqual(expected.map(plain));
    const order = random.pick(["newest", "oldest"] as const);
    const inOrder = order === "newest" ? expected : expected.toReversed();
    expect((await readPages(query, order)).map(plain), `${query} in pages, ${order} first`).toEqual(
      inOrder.map(plain),
    );
    if (!isBounded(planLogs(query).steps)) continue;
    const part = {
      startMs: startMs + random.between(0, 30_000),
      endMs: startMs + random.between(30_000, spanMs),
    };
    const { rows: partial } = await searchLogs(store, { query, ...part, limit: 1_000 });
    const [fromNs, toNs] = [BigInt(part.startMs) * 1_000_000n, BigInt(part.endMs + 1) * 1_000_000n];
    expect(partial.map(plain), `${query} in a part of the range`).toEqual(
      expected.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs).map(plain),
    );
  }
});

test(`a bucket that is read by itself is as in the whole range (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  for (let i = 0; i < (isLong ? 2_000 : 30); i++) {
    const rowsQuery = randomQuery(random);
    if (!isBounded(planLogs(rowsQuery).steps)) continue;
    const query = `count(${rowsQuery}) by (pod)`;
    const { series: whole } = await queryTimeseries(store, { query, ...range, bucketSeconds: 10 });
    for (let fromMs = startMs; fromMs < range.endMs; fromMs += 10_000) {
      const bucket = { startMs: fromMs, endMs: fromMs + 9_999 };
      const { series } = await queryTimeseries(store, { query, ...bucket, bucketSeconds: 10 });
      const expected = whole.flatMap(({ labels, points }) => {
        const own = points.filter(([ms]) => ms === fromMs);
        return own.length === 0 ? [] : [{ labels, points: own }];
      });
      expect(series, `${query} from ${fromMs - startMs}`).toEqual(expected);
    }
  }
});

test(`texts made of labels are those of the naive evaluator (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  for (let i = 0; i < (isLong ? 5_000 : 80); i++) {
    const query = randomFormatQuery(random);
    const expected = newestFirst(findNaively(query));
    const { rows: found } = await searchLogs(store, { query, ...range, limit: 1_000 });
    expect(found.map(plain), query).toEqual(expected.map(plain));
  }
});

async function readPages(query: string, order: "newest" | "oldest"): Promise<LogRow[]> {
  const found: LogRow[] = [];
  const limit = random.between(1, 60);
  for (let cursor: string | undefined; ; ) {
    const page = await searchLogs(store, {
      ...{ query, ...range, limit, order },
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...page.rows);
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}

test(`counts, numbers and fields are those of the rows found (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  for (let i = 0; i < (isLong ? 5_000 : 80); i++) {
    const query = randomQuery(random);
    const found = findNaively(query);
    const by = random.pick(["x0", "pod", "traces.name", "log_level"]);
    const labelOf = (row: LogRow) =>
      by === "log_level" ? row.level.toLowerCase() : (row.attributes[by] ?? "");
    const counted = await queryTimeseries(store, {
      query: `count(${query}) by (${by})`,
      ...range,
      bucketSeconds: 10,
    });
    const counts = new Map<string, number>();
    for (const { labels, points } of counted.series) {
      for (const [ms, count] of points) counts.set(`${labels[by] ?? ""} ${ms}`, count);
    }
    const expected = Map.groupBy(found, (row) => {
      const ms = Number(row.timeNs / 1_000_000n);
      return `${labelOf(row)} ${ms - (ms % 10_000)}`;
    });
    expect(sorted(counts), `count of ${query} by ${by}`).toEqual(
      sorted(new Map([...expected].map(([key, of]) => [key, of.length]))),
    );
    const ungrouped = await queryTimeseries(store, { query: `count(${query})`, ...range, bucketSeconds: 7 });
    const byBucket = Map.groupBy(found, ({ timeNs }) => Number(timeNs / 7_000_000_000n) * 7_000);
    const points = [...byBucket].map(([ms, of]) => [ms, of.length]).sort(([a], [b]) => a! - b!);
    expect(
      ungrouped.series.map((each) => each.points),
      `count of ${query}`,
    ).toEqual(points.length === 0 ? [] : [points]);
    const numbers = found
      .map(({ attributes: { x0 } }) => Number(x0 === "" ? undefined : x0))
      .filter(Number.isFinite);
    const summed = await queryTimeseries(store, { query: `sum(x0, ${query})`, ...range, bucketSeconds: 60 });
    const sum = summed.series.flatMap(({ points }) => points).reduce((total, [, value]) => total + value, 0);
    expect(sum, `sum of ${query}`).toBeCloseTo(
      numbers.reduce((total, number) => total + number, 0),
      3,
    );
    const histogram = await queryHistogram(store, { signal: "logs", query, ...range });
    expect(histogram.count, `histogram of ${query}`).toBe(found.length);
    const fields = await queryFields(store, { signal: "logs", query, ...range, prefix: "", limit: 100 });
    expect(fields.count).toBe(found.length);
    const having = found.filter(({ attributes }) => Object.hasOwn(attributes, "x0")).length;
    expect(fields.fields.find(({ name }) => name === "x0")?.rows ?? 0, `fields of ${query}`).toBe(having);
  }
});

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}
