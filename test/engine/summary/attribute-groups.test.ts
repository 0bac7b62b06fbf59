/** Fields of rows that hold a text, counted by the templates of sealed chunks while more of these come and are merged. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type FieldCounts,
  type Filter,
  type LogRow,
  openStore,
  type Step,
  type Store,
} from "../../../engine/index.ts";
import { generateRows } from "../../../fixtures/logs.ts";
import { countNeedles, NeedleSurvey } from "../../../fixtures/needles.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { seed } from "../datasets.ts";
import { makeKeyedRows } from "../keyed-rows.ts";
import { arbitraryFilter, makeRows } from "../message-rows.ts";
import { countFieldsNaively, toCompared } from "../naive-fields.ts";

const dayNs = 86_400_000_000_000n;
const dir = mkdtempSync(join(tmpdir(), "svc-attribute-groups-"));
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 2 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

const toSteps = (filters: readonly Filter[]) => filters.map((filter): Step => ({ kind: "filter", filter }));

function count(filters: readonly Filter[], fromNs: bigint, toNs: bigint): Promise<FieldCounts> {
  return store.countFields({ signal: "logs", fromNs, toNs, steps: toSteps(filters) });
}

function countNaively(rows: readonly LogRow[], filters: readonly Filter[]) {
  return countFieldsNaively(rows, toSteps(filters));
}

/** Asks until templates settle the answer, or it is clear that they do not: they are learnt after the first query. */
async function learn(filter: Filter, fromNs: bigint, tries: number): Promise<void> {
  for (let i = 0; i < tries; i++) {
    if ((await count([filter], fromNs, fromNs + dayNs)).scanned.rows === 0) return;
    await sleep(10);
  }
}

const contains = (text: string): Filter => ({
  ...{ kind: "contains", field: { kind: "message" }, text, ignoreCase: false },
});

test.each(["system", "company", "wide"] as const)(
  `fields of %s are counted without a look at the rows (SVC_SEED=${seed})`,
  async (profile) => {
    const startMs = Date.UTC(2024, 6, 3 + profile.length);
    const each = 12_000;
    const generated = [
      ...generateRows({ profile, seed, rows: profile === "wide" ? each : 2 * each, startMs }),
    ];
    // In order of time, so that the chunks do not overlap. Some rows have no level.
    const rows = generated
      .sort((a, b) => Number(a.timeNs - b.timeNs))
      .map((row, i) => (i % 11 === 0 ? { ...row, level: "" } : row));
    for (let from = 0; from < rows.length; from += each) {
      await store.append("logs", rows.slice(from, from + each));
      await store.seal();
    }
    const survey = new NeedleSurvey();
    for (const row of rows) survey.add(row);
    const texts = (["common", "phrase", "substring"] as const).flatMap((kind) =>
      survey.needles(kind).slice(0, 8),
    );
    const held = countNeedles(rows, texts);
    const fromNs = BigInt(startMs) * 1_000_000n;
    const toNs = fromNs + dayNs;
    for (const { text } of texts.slice(0, 3)) await learn(contains(text), fromNs, 100);
    let unread = 0;
    for (const [i, { text }] of texts.entries()) {
      const filters = [contains(text), ...(i % 4 === 3 ? [contains(texts[i - 1]!.text)] : [])];
      const found = await count(filters, fromNs, toNs);
      expect(toCompared(found), text).toEqual(countNaively(rows, filters));
      if (held[i]! > 0 && found.scanned.rows === 0) unread++;
    }
    // Of the texts of `wide` fewer lie in templates.
    expect(unread).toBeGreaterThan(texts.length / (profile === "wide" ? 6 : 3));

    // A range that cuts a chunk reads that chunk alone.
    const cutNs = rows[each / 2]!.timeNs;
    const text = texts.find((_, i) => held[i]! > 0)!.text;
    const within = rows.filter(({ timeNs }) => timeNs >= cutNs);
    expect(toCompared(await count([contains(text)], cutNs, toNs))).toEqual(
      countNaively(within, [contains(text)]),
    );
  },
  300_000,
);

test(`fields of odd rows are counted as a loop over the rows does (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed, 31);
  const days = scaled(4, 8);
  const parts = 10;
  const sets = Array.from({ length: days }, (_, number) => {
    const rows = number % 2 === 0 ? makeRows(number, seed) : makeKeyedRows(number, seed);
    // Attributes that depend on nothing else, some of them so many that rows share a column for the rarest.
    const keys = number % 3 === 2 ? 3_000 : 12;
    return rows.map((row) => ({
      ...row,
      level: random.below(5) === 0 ? "" : row.level,
      attributes: {
        ...row.attributes,
        ...Object.fromEntries(Array.from({ length: random.below(4) }, () => [`k${random.below(keys)}`, "v"])),
      },
    }));
  });
  const stored: LogRow[][] = sets.map(() => []);
  for (let part = 0; part < parts; part++) {
    for (const [number, rows] of sets.entries()) {
      const own = rows.filter((_, i) => i % parts === part);
      stored[number]!.push(...own);
      await store.append("logs", own);
    }
    await store.seal();
    if (part % 3 !== 0) continue;
    for (const [number, rows] of stored.entries()) {
      const fromNs = BigInt(number + 1) * dayNs;
      const options = { seed: seed + number + part * 1_000, numRuns: scaled(12, 300) };
      const filters = fc.sample(arbitraryFilter(sets[number]!), options);
      await learn(filters.find(({ kind }) => kind === "contains")!, fromNs, 20);
      for (const [i, filter] of filters.entries()) {
        // Some ranges cut chunks.
        const from = i % 3 === 0 ? fromNs + BigInt(random.below(200)) : fromNs;
        const within = rows.filter(({ timeNs }) => timeNs >= from);
        const found = await count([filter], from, fromNs + dayNs);
        expect(toCompared(found), JSON.stringify(filter)).toEqual(countNaively(within, [filter]));
      }
    }
  }
}, 120_000);
