/** Messages that hold a text, counted by the templates of sealed chunks while more of these come and are merged. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Filter,
  type LogRow,
  openStore,
  type Step,
  type Store,
  templateIdOf,
  textAt,
} from "../../../engine/index.ts";
import { generateRows, type Profile } from "../../../fixtures/logs.ts";
import {
  countNeedles,
  type GeneratedNeedle,
  type NeedleKind,
  NeedleSurvey,
} from "../../../fixtures/needles.ts";
import { scaled } from "../../durability/campaign.ts";
import { runSteps } from "../../query/naive.ts";
import { seed } from "../datasets.ts";
import { makeKeyedRows } from "../keyed-rows.ts";
import { arbitraryFilter, makeRows } from "../message-rows.ts";

const days = scaled(5, 8);
const chunksADay = 10;
const filtersEach = scaled(16, 400);
/** Of each kind of needle, in messages that are grouped. */
const textsEach = scaled(1, 2);
const dayNs = 86_400_000_000_000n;
const dir = mkdtempSync(join(tmpdir(), "svc-templates-"));
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 2 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

interface Counted {
  rows: number;
  /** Rows that had to be looked at. */
  scanned: number;
}

async function count(filter: Filter, fromNs: bigint, toNs: bigint): Promise<Counted> {
  const { points, scanned } = await store.aggregate({
    ...{ signal: "logs", fromNs, toNs, groupBy: [], aggregates: [{ op: "count" }] },
    steps: [{ kind: "filter", filter }],
  });
  return { rows: points.values[0]?.[0] ?? 0, scanned: scanned.rows };
}

/** Asks until templates settle the answer, or it is clear that they do not: they are learnt after the first query. */
async function learn(filter: Filter, fromNs: bigint): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { scanned } = await count(filter, fromNs, fromNs + dayNs);
    if (scanned === 0) return;
    await sleep(5);
  }
}

test(`odd texts are counted as a loop over the rows does (SVC_SEED=${seed})`, async () => {
  const sets = Array.from({ length: days }, (_, number) =>
    number % 2 === 0 ? makeRows(number, seed) : makeKeyedRows(number, seed),
  );
  const stored: LogRow[][] = sets.map(() => []);
  let asked = 0;
  for (let part = 0; part < chunksADay; part++) {
    for (const [number, rows] of sets.entries()) {
      const own = rows.filter((_, i) => i % chunksADay === part);
      stored[number]!.push(...own);
      await store.append("logs", own);
    }
    await store.seal();
    if (part % 3 !== 0) continue;
    for (const [number, rows] of stored.entries()) {
      const fromNs = BigInt(number + 1) * dayNs;
      const filters = fc.sample(arbitraryFilter(sets[number]!), {
        seed: seed + number + part * 1_000,
        numRuns: filtersEach,
      });
      await learn(filters.find(({ kind }) => kind === "contains")!, fromNs);
      for (const filter of filters) {
        // Some ranges cut chunks.
        const from = asked++ % 3 === 0 ? fromNs + BigInt(asked % 200) : fromNs;
        const within = rows.filter(({ timeNs }) => timeNs >= from);
        const wanted = runSteps([{ kind: "filter", filter }], within).length;
        const found = await count(filter, from, fromNs + dayNs);
        expect(found.rows, JSON.stringify(filter)).toBe(wanted);
      }
    }
  }
}, 120_000);

/** The texts that are searched for in messages of `wide` are mostly values of lines. */
const profiles: readonly Profile[] = ["system", "company"];
/** Rows by template and level: the id, the level in lower case, rows, first and last millisecond. */
type Groups = Record<string, [rows: number, firstMs: number, lastMs: number]>;

async function group(
  steps: Step[],
  fromNs: bigint,
  toNs: bigint,
): Promise<{ groups: Groups; scanned: number }> {
  const { labels, points, scanned } = await store.aggregate({
    ...{ signal: "logs", fromNs, toNs, steps },
    groupBy: [{ kind: "template" }, { kind: "level" }],
    aggregates: [{ op: "count" }, { op: "first" }, { op: "last" }],
  });
  const groups: Groups = {};
  for (const [point, group] of points.groups.entries()) {
    const [rows, first, last] = points.values.map((values) => values[point]!);
    groups[`${textAt(labels, group * 2)} ${textAt(labels, group * 2 + 1)}`] = [rows!, first!, last!];
  }
  return { groups, scanned: scanned.rows };
}

function groupNaively(rows: readonly LogRow[], ids: ReadonlyMap<string, string>): Groups {
  const groups: Groups = {};
  for (const row of rows) {
    const ms = Number(row.timeNs / 1_000_000n);
    const key = `${ids.get(row.message)} ${row.level.toLowerCase()}`;
    const [count, first, last] = groups[key] ?? [0, ms, ms];
    groups[key] = [count + 1, Math.min(first, ms), Math.max(last, ms)];
  }
  return groups;
}

/** In chunks of 12,000. Two of `wide` are 20 MB of messages, which the loop goes through sixty times. */
const groupedRows = { system: 24_000, company: 24_000, wide: scaled(12_000, 24_000) };

test.each([...profiles, "wide"] as const)(
  `rows of %s are grouped by template and level without a look at them (SVC_SEED=${seed})`,
  async (profile) => {
    const startMs = Date.UTC(2024, 6, 3 + profiles.indexOf(profile));
    // In order of time, so that the chunks do not overlap.
    const generated = [...generateRows({ profile, seed, rows: groupedRows[profile], startMs })];
    const rows = generated.sort((a, b) => Number(a.timeNs - b.timeNs));
    for (let from = 0; from < rows.length; from += 12_000) {
      // With fewer rows a chunk may have too many templates for them, and be stored as plain text.
      await store.append("logs", rows.slice(from, from + 12_000));
      await store.seal();
    }
    const ids = new Map(rows.map(({ message }) => [message, templateIdOf(message)]));
    const fromNs = BigInt(startMs) * 1_000_000n;
    const toNs = fromNs + dayNs;
    for (let tries = 0; tries < 500 && (await group([], fromNs, toNs)).scanned > 0; tries++) await sleep(10);

    const survey = new NeedleSurvey();
    for (const row of rows) survey.add(row);
    const texts = needleKinds.flatMap((kind) => survey.needles(kind).slice(0, textsEach)).map(filterFor);
    const levels = [...new Set(rows.map(({ level }) => level.toLowerCase()))].map(
      (value): Filter => ({ kind: "equals", field: { kind: "level" }, value }),
    );
    const without = (filter: Filter): Filter => ({ kind: "not", of: filter });
    const sets: Filter[][] = [
      [],
      ...texts.map((text) => [text]),
      ...levels.map((level) => [level]),
      ...levels.map((level) => [without(level)]),
      ...texts.map((text, i) => [text, levels[i % levels.length]!]),
      ...texts.map((text, i) => [text, texts[(i + 7) % texts.length]!]),
      ...texts.slice(0, 5).map((text) => [without(text)]),
    ];
    let unread = 0;
    for (const filters of sets) {
      const steps = filters.map((filter): Step => ({ kind: "filter", filter }));
      const matching = runSteps(steps, rows);
      const found = await group(steps, fromNs, toNs);
      expect(found.groups, JSON.stringify(filters)).toEqual(groupNaively(matching, ids));
      if (found.scanned === 0 && matching.length > 0) unread++;
    }
    // Of the texts of `wide` fewer lie in templates.
    expect(unread).toBeGreaterThan(sets.length / (profile === "wide" ? 6 : 3));

    // A range that cuts a chunk reads that chunk alone.
    const cutNs = rows[6_000]!.timeNs;
    const cut = await group([], cutNs, toNs);
    expect(cut.groups).toEqual(
      groupNaively(
        rows.filter(({ timeNs }) => timeNs >= cutNs),
        ids,
      ),
    );
    expect(cut.scanned).toBeLessThan(12_000);

    // More rows come, in memory and then in one more chunk.
    const more = rows.slice(0, 12_000);
    const all = groupNaively([...rows, ...more], ids);
    await store.append("logs", more);
    expect((await group([], fromNs, toNs)).groups).toEqual(all);
    await store.seal();
    for (let tries = 0; tries < 500; tries++) {
      const { groups, scanned } = await group([], fromNs, toNs);
      expect(groups).toEqual(all);
      if (scanned === 0) break;
      await sleep(10);
    }
    expect((await group([], fromNs, toNs)).scanned).toBe(0);
  },
  300_000,
);

test.each(profiles)(
  `words, phrases and patterns of %s are counted without a look at its rows (SVC_SEED=${seed})`,
  async (profile) => {
    const startMs = Date.UTC(2024, 3, 1 + profiles.indexOf(profile));
    const rows = [...generateRows({ profile, seed, rows: 30_000, startMs })];
    for (let from = 0; from < rows.length; from += 10_000) {
      await store.append("logs", rows.slice(from, from + 10_000));
      await store.seal();
    }
    const survey = new NeedleSurvey();
    for (const row of rows) survey.add(row);
    const needles = needleKinds.flatMap((kind) => survey.needles(kind).slice(0, 25));
    const wanted = countNeedles(rows, needles);
    const fromNs = BigInt(startMs) * 1_000_000n;
    const toNs = fromNs + dayNs;
    await learn(filterFor(survey.needles("phrase")[0]!), fromNs);
    const settled = new Map<NeedleKind, number>();
    for (const [i, needle] of needles.entries()) {
      const found = await count(filterFor(needle), fromNs, toNs);
      expect([needle, found.rows]).toEqual([needle, wanted[i]]);
      if (wanted[i]! > 0 && found.scanned === 0)
        settled.set(needle.kind, (settled.get(needle.kind) ?? 0) + 1);
      // Of other days nothing is found, and the newest rows are found whichever way they are asked for.
      const limit = 3;
      const newest = await store.search({
        ...{ signal: "logs", fromNs, toNs, limit },
        steps: [{ kind: "filter", filter: filterFor(needle) }],
      });
      expect(newest.rows).toHaveLength(Math.min(limit, wanted[i]!));
    }
    for (const kind of ["common", "phrase", "regex", "ignoreCase"] as const)
      expect([kind, settled.get(kind) ?? 0]).toEqual([kind, expect.toSatisfy((many: number) => many >= 5)]);
  },
  120_000,
);

const needleKinds: readonly NeedleKind[] = [
  ...(["absent", "rare", "seldom", "common", "substring", "ignoreCase"] as const),
  ...(["phrase", "regex", "number", "id"] as const),
];

function filterFor({ kind, text }: GeneratedNeedle): Filter {
  const field = { kind: "message" } as const;
  if (kind === "regex") return { kind: "matches", field, pattern: text, whole: false };
  return { kind: "contains", field, text, ignoreCase: kind === "ignoreCase" };
}
