/** What the query thread keeps of the templates of sealed chunks, in the memory that it may take for them. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { SealedChunkRef } from "../../../engine/chunk/chunk-ref.ts";
import { chunkIdentity } from "../../../engine/chunk/chunk-ref.ts";
import type { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { templateIdOf } from "../../../engine/index.ts";
import { type TemplateSource, TemplateSummaries } from "../../../engine/summary/template-summaries.ts";
import { toTextVector } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

describe("room for templates", () => {
  const templates = 500;
  /** Half of the templates of a day are those of all days. */
  const textOf = (day: number, i: number) =>
    `template ${"abcdefghij"[i % 10]}${"x".repeat(i)}${i % 20 < 10 ? "" : ` of ${"y".repeat(day)}`}`;
  const textsOf = (day: number) => Array.from({ length: templates }, (_, i) => textOf(day, i));
  const pause = async () => undefined;
  const refOf = (day: number, id: number) =>
    ({
      kind: "sealed",
      signal: "logs",
      day,
      dir: `day ${day}`,
      entry: { id, checksum: 7 },
    }) as unknown as SealedChunkRef;
  let asked: string[];

  beforeEach(() => {
    asked = [];
  });

  const list: TemplateSource["list"] = async (refs) =>
    refs.map(({ dir, day, entry }) => {
      asked.push(`${dir}: ${entry.id}`);
      const keys = toTextVector(textsOf(day));
      const rows = new Uint32Array(templates).fill(1);
      const ngrams = [undefined, undefined, new Uint8Array(20_000)];
      return { dir, chunk: chunkIdentity(entry), keys, rows, ngrams, groups: undefined };
    });

  test("days that do not fit together do not push each other out", async () => {
    const digests = new TemplateSummaries(4 * 1024 * 1024);
    const refs = Array.from({ length: 60 }, (_, day) => [refOf(day, 1), refOf(day, 2)]).flat();
    const chunksIn = ({ day }: { day: number }) =>
      new Set(refs.filter((ref) => ref.day === day).map(({ entry }) => chunkIdentity(entry)));
    for (let round = 0; round < 5; round++) {
      const lacking = refs.filter((ref) => digests.lacks(ref));
      if (lacking.length > 0) await digests.learn(lacking, { list, chunksIn }, pause);
    }
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.length).toBeGreaterThan(4);
    expect(asked.length).toBeLessThan(refs.length);
    expect(refs.map((ref) => digests.lacks(ref))).not.toContain(true);
  });

  test("chunks that were merged away leave their room to those that came", async () => {
    const digests = new TemplateSummaries(4 * 1024 * 1024);
    const filter = {
      kind: "contains",
      field: { kind: "message" },
      text: "template a",
      ignoreCase: false,
    } as const;
    const view = { longRuns: () => undefined } as unknown as ChunkView;
    const told: (number | undefined)[] = [];
    for (let id = 1; id <= 300; id++) {
      const ref = refOf(0, id);
      const chunksIn = () => new Set([id - 1, id].map((one) => chunkIdentity(refOf(0, one).entry)));
      for (let tries = 0; tries < 2 && digests.lacks(ref); tries++)
        await digests.learn([ref], { list, chunksIn }, pause);
      // Each query has filters of its own.
      told.push(digests.rowsOf({ ...filter }, ref, view));
    }
    expect(told).toEqual(told.map(() => templates / 10));
  });

  test("days that were not used for a minute leave their room; what is known of the others stays right", async () => {
    const random = new Random(seed, 7);
    const levelTexts = ["info", undefined];
    const rowsIn = new Map<SealedChunkRef, Uint32Array>();
    const listRows: TemplateSource["list"] = async (refs) =>
      (await list(refs)).map((listed, i) => {
        const rows = Uint32Array.from(listed.rows, () => random.between(1, 9));
        rowsIn.set(refs[i]!, rows);
        const groups = {
          ...{ templates: Uint32Array.from(rows, (_, template) => template), rows, levelTexts },
          levels: Uint8Array.from(rows, (_, template) => template % 2),
          ...{ firstMs: new Uint32Array(rows.length), lastMs: new Uint32Array(rows.length) },
        };
        return { ...listed, rows, groups };
      });
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const digests = new TemplateSummaries(4 * 1024 * 1024);
      const view = { longRuns: () => undefined } as unknown as ChunkView;
      const refs = Array.from({ length: 40 }, (_, day) => [refOf(day, 1), refOf(day, 2)]).flat();
      const chunksIn = () => new Set([1, 2].map((id) => chunkIdentity(refOf(0, id).entry)));
      const field = { kind: "message" } as const;
      const isKnown = (ref: SealedChunkRef) => digests.rowsOf({ ...filter }, ref, view) !== undefined;
      const filter = { kind: "contains", field, text: "template a", ignoreCase: false } as const;
      for (const ref of refs) {
        vi.advanceTimersByTime(61_000);
        await digests.learn([ref], { list: listRows, chunksIn }, pause);
        expect(isKnown(ref)).toBe(true);
        const all = refs.filter((each) => rowsIn.has(each) && isKnown(each));
        const known = all[random.below(all.length)]!;
        const rows = rowsIn.get(known)!;
        const holding = rows.filter((_, template) => template % 10 === 0);
        expect(digests.rowsOf({ ...filter }, known, view)).toBe(holding.reduce((sum, each) => sum + each, 0));
        const { groups, names } = (await digests.dayGroupsOf([known], pause))!;
        const found = Array.from(groups.templates, (template, i) => [
          names.idOf(template),
          groups.rows[i],
          groups.levelTexts[groups.levels[i]!],
        ]);
        const expected = textsOf(known.day).map((text, i) => [
          templateIdOf(text),
          rows[i],
          levelTexts[i % 2],
        ]);
        expect(found.sort()).toEqual(expected.sort());
      }
      const left = refs.filter(isKnown).length;
      expect(left).toBeGreaterThan(8);
      expect(left).toBeLessThan(refs.length / 2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a day's groups are added up while chunks with other levels come, and days are dropped", async () => {
    const random = new Random(seed, 8);
    const refs = Array.from({ length: 24 }, (_, day) => [refOf(day, 1), refOf(day, 2), refOf(day, 3)]).flat();
    const rowsIn = new Map<SealedChunkRef, Map<string, number>>();
    const listRows: TemplateSource["list"] = async (some) =>
      (await list(some)).map((listed, i) => {
        const { day } = some[i]!;
        const levelTexts = [`level ${random.below(40)}`, undefined, `LEVEL ${random.below(40)}`];
        const rows = Uint32Array.from(listed.rows, () => random.between(1, 9));
        const levels = Uint8Array.from(rows, () => random.below(3));
        const own = new Map<string, number>();
        for (const [template, level] of levels.entries())
          own.set(`${textOf(day, template)}: ${levelTexts[level]}`, rows[template]!);
        rowsIn.set(some[i]!, own);
        const [firstMs, lastMs] = [new Uint32Array(rows.length), new Uint32Array(rows.length)];
        const templates = Uint32Array.from(rows, (_, template) => template);
        return { ...listed, rows, groups: { templates, levels, rows, firstMs, lastMs, levelTexts } };
      });
    const texts = new Map(
      Array.from({ length: 24 }, (_, day) => textsOf(day))
        .flat()
        .map((text) => [templateIdOf(text), text]),
    );
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const digests = new TemplateSummaries(4 * 1024 * 1024);
      const chunksIn = () => new Set([1, 2, 3].map((id) => chunkIdentity(refOf(0, id).entry)));
      let added = 0;
      let isAdding = false;
      // Other work of the thread, in the pauses of the call that is tested.
      const disturb = async () => {
        if (isAdding || random.below(3) > 0) return;
        isAdding = true;
        vi.advanceTimersByTime(random.below(2) * 61_000);
        if (random.below(4) === 0) digests.forget(`day ${random.below(24)}`);
        await digests.learn(refs.slice(added, ++added), { list: listRows, chunksIn }, pause);
        isAdding = false;
      };
      let checked = 0;
      while (added < refs.length) {
        await disturb();
        const day = random.below(Math.ceil((added + 1) / 3));
        const known = refs.filter((ref) => ref.day === day && rowsIn.has(ref)).slice(0, 1 + random.below(3));
        if (known.length === 0) continue;
        const found = await digests.dayGroupsOf(known, disturb);
        if (found === undefined) continue;
        checked++;
        const { groups, names } = found;
        const sums = Array.from(groups.templates, (template, i) => [
          `${texts.get(names.idOf(template))}: ${groups.levelTexts[groups.levels[i]!]}`,
          groups.rows[i],
        ]);
        const expected = new Map<string, number>();
        for (const ref of known)
          for (const [key, rows] of rowsIn.get(ref)!) expected.set(key, (expected.get(key) ?? 0) + rows);
        expect(sums.sort()).toEqual([...expected].sort());
      }
      expect(checked).toBeGreaterThan(20);
    } finally {
      vi.useRealTimers();
    }
  });

  test("nothing is learnt once it is to end", async () => {
    const digests = new TemplateSummaries(4 * 1024 * 1024);
    const refs = Array.from({ length: 100 }, (_, i) => refOf(0, i));
    const learning = digests.learn(refs, { list, chunksIn: () => new Set() }, pause);
    await digests.endLearning();
    await learning;
    expect(asked.length).toBeLessThan(refs.length);
    expect(digests.lacks(refs.at(-1)!)).toBe(true);
  });
});
