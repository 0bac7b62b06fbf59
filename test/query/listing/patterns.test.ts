/** Patterns through the public face, compared with a loop over the rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { type Pattern, printQuery, queryPatterns, searchLogs } from "../../../query/index.ts";
import { arbitraryRow, arbitrarySelector } from "../arbitrary-search.ts";
import { evaluateSearch } from "../naive-search.ts";
import { templateId, templateText } from "../templates.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2025, 2, 3, 23);
const spanMs = 2 * 3_600_000;

let dir: string;
let store: Store;
let rows: LogRow[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-patterns-"));
  store = await openStore({ dir, threads: 2 });
  const drawn = fc.sample(fc.tuple(arbitraryRow, fc.nat({ max: spanMs - 1 }), fc.nat({ max: 99 })), {
    seed,
    numRuns: 600,
  });
  // All times differ, so that each pattern has one newest message.
  rows = drawn.map(([row, ms, number], i) => ({
    ...row,
    message: i % 3 === 0 ? `request ${number} took ${number * 7} ms ${row.message}` : row.message,
    timeNs: BigInt(startMs + ms) * 1_000_000n + BigInt(i),
  }));
  await store.append("logs", rows.slice(0, 400));
  await store.seal();
  for (let at = 400; at < rows.length; at += 50) await store.append("logs", rows.slice(at, at + 50));
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** The templates of messages that were asked for before. */
const knownIds = new Map<string, string>();

function idOf(message: string): string {
  const id = knownIds.get(message) ?? templateId(message);
  knownIds.set(message, id);
  return id;
}

function listNaively(found: readonly LogRow[]): Pattern[] {
  const byTemplate = Map.groupBy(found, ({ message }) => idOf(message));
  const patterns = Array.from(byTemplate, ([template, sameTemplate]): Pattern => {
    const newest = sameTemplate.reduce((a, b) => (b.timeNs > a.timeNs ? b : a));
    const times = sameTemplate.map(({ timeNs }) => Number(timeNs / 1_000_000n));
    const levels = Map.groupBy(sameTemplate, ({ level }) => level.toLowerCase());
    return {
      template,
      text: templateText(newest.message),
      count: sameTemplate.length,
      share: sameTemplate.length / found.length,
      example: newest.message,
      firstSeenMs: Math.min(...times),
      lastSeenMs: Math.max(...times),
      levels: Object.fromEntries([...levels].map(([level, { length }]) => [level, length])),
    };
  });
  return patterns.sort((a, b) => b.count - a.count || (a.template < b.template ? -1 : 1));
}

const toPlain = (patterns: readonly Pattern[]) =>
  patterns.map((pattern) => ({ ...pattern, levels: { ...pattern.levels } }));

test(`the patterns of random selections are those of the rows (SVC_SEED=${seed})`, async () => {
  for (const selector of fc.sample(arbitrarySelector, { seed: seed + 1, numRuns: 150 })) {
    const query = printQuery(selector);
    const expected = listNaively(rows.filter((row) => evaluateSearch(selector, row) !== undefined));
    const found = await queryPatterns(store, { query, startMs, endMs: startMs + spanMs, limit: 7 });
    expect(toPlain(found.patterns), query).toEqual(expected.slice(0, 7));
    expect(found.distinct, query).toBe(expected.length);
    expect(found.count, query).toBe(expected.reduce((sum, { count }) => sum + count, 0));
  }
}, 120_000);

test("the id of a pattern selects its rows", async () => {
  const { patterns } = await queryPatterns(store, {
    query: "took",
    startMs,
    endMs: startMs + spanMs,
    limit: 3,
  });
  expect(patterns.length).toBe(3);
  for (const { template, count } of patterns) {
    const query = `logs{template="${template}"}`;
    const found = await searchLogs(store, { query, startMs, endMs: startMs + spanMs, limit: 1_000 });
    expect(found.rows.length).toBe(count);
  }
});

test("names that no row has are warned of", async () => {
  const { warnings } = await queryPatterns(store, {
    query: '{statu="5"}',
    startMs,
    endMs: startMs,
    limit: 1,
  });
  expect(warnings).toEqual(['no row has the attribute "statu"; did you mean "status"?']);
});

const dayMs = 86_400_000;
const dayCount = 8;
const firstDayMs = Date.UTC(2025, 4, 5);

/** Rows of days with some templates of their own, and some that other days have, too. */
function drawDay(day: number, random: () => number, rowCount: number, lastRow = 0): LogRow[] {
  return Array.from({ length: rowCount }, (_, i) => {
    const word = String.fromCharCode(97 + Math.floor(random() * 26));
    const isOwn = random() < 0.4;
    const name = isOwn
      ? `${word}${word} of ${"mon tue wed thu fri sat sun sol".split(" ")[day]}`
      : word.repeat(3);
    const ms = firstDayMs + day * dayMs + Math.floor(random() * dayMs);
    return {
      timeNs: BigInt(ms) * 1_000_000n + BigInt(lastRow + i),
      message: `${name} took ${Math.floor(random() * 1_000)} ms`,
      level: ["INFO", "info", "error", ""][Math.floor(random() * 4)]!,
      attributes: {},
    };
  });
}

/** The same time, with one of fifty messages. */
function toEven(row: LogRow, i: number): LogRow {
  const name = String.fromCharCode(97 + (i % 25)).repeat(i % 50 < 25 ? 5 : 6);
  return {
    ...row,
    message: `${name} on ${row.timeNs < BigInt(firstDayMs + 4 * dayMs) * 1_000_000n ? "first" : "last"} days`,
  };
}

test(`the patterns of many days are those of the rows, also while rows come late (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed, 3);
  const next = () => random.below(1_000_000) / 1_000_000;
  const folder = mkdtempSync(join(tmpdir(), "svc-patterns-of-days-"));
  const many = await openStore({ dir: folder, threads: 2 });
  const all: LogRow[] = [];
  const add = async (found: LogRow[]) => {
    all.push(...found);
    await many.append("logs", found);
    await many.seal();
  };
  const ask = async (fromMs: number, toMs: number) => {
    const limit = 1 + Math.floor(next() ** 2 * 80);
    const range = { startMs: fromMs, endMs: toMs };
    const found = await queryPatterns(many, { query: "", ...range, limit });
    const within = all.filter(({ timeNs }) => {
      const ms = Number(timeNs / 1_000_000n);
      return ms >= fromMs && ms <= toMs;
    });
    const expected = listNaively(within);
    expect(toPlain(found.patterns)).toEqual(expected.slice(0, limit));
    expect({ distinct: found.distinct, count: found.count }).toEqual({
      distinct: expected.length,
      count: within.length,
    });
    return found.scanned.rows;
  };
  try {
    for (let day = 0; day < dayCount; day++) await add(drawDay(day, next, 1_500));
    // As frequent as each other, so that their ids decide which are listed.
    for (const day of [1, dayCount - 2]) await add(drawDay(day, next, 50 * 30, all.length).map(toEven));
    const endMs = firstDayMs + dayCount * dayMs;
    // Templates are listed after the first query; from then on no column is read.
    let tries = 0;
    while ((await ask(firstDayMs - tries, endMs)) > 0) {
      expect(++tries).toBeLessThan(200);
      await sleep(5);
    }
    for (let round = 0; round < 12; round++) {
      await ask(firstDayMs - round, endMs + round);
      await ask(firstDayMs + Math.floor(next() * dayMs * 2), endMs - Math.floor(next() * dayMs * 2));
      await ask(firstDayMs + Math.floor(next() * dayMs), firstDayMs + dayMs * (4 + Math.floor(next() * 3)));
      await add(drawDay(Math.floor(next() * dayCount), next, 20, all.length));
    }
  } finally {
    await many.close();
    rmSync(folder, { recursive: true });
  }
}, 120_000);
