/** What the query thread keeps of the templates of sealed chunks, in the memory that it may take for them. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { SealedChunkRef } from "../../../engine/chunk/chunk-ref.ts";
import { chunkIdentity } from "../../../engine/chunk/chunk-ref.ts";
import type { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { templateIdOf } from "../../../engine/index.ts";
import type { TemplateKeys } from "../../../engine/summary/indexed-templates.ts";
import { type TemplateSource, TemplateSummaries } from "../../../engine/summary/template-summaries.ts";
import { getOrMake } from "../../../engine/vector/map-entry.ts";
import { toTextVector } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

/** No day has a file. */
const noFiles = { isNewest: () => false, read: async () => undefined, write: async () => undefined };

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
  const keysByDay = new Map<number, TemplateKeys>();
  const keysOf = (day: number) =>
    getOrMake(keysByDay, day, () => {
      const ids = Buffer.from(textsOf(day).map(templateIdOf).join(""), "latin1");
      return { keys: toTextVector(textsOf(day)), ids };
    });
  let asked: string[];

  beforeEach(() => {
    asked = [];
  });

  const list: TemplateSource["list"] = async (refs) =>
    refs.map(({ dir, day, entry }) => {
      asked.push(`${dir}: ${entry.id}`);
      const { keys, ids } = keysOf(day);
      const rows = new Uint32Array(templates).fill(1);
      return { dir, chunk: chunkIdentity(entry), keys, ids, rows, groups: undefined, attributes: undefined };
    });

  test("days that do not fit together do not push each other out", async () => {
    const digests = new TemplateSummaries(4 * 1024 * 1024);
    const refs = Array.from({ length: 60 }, (_, day) => [refOf(day, 1), refOf(day, 2)]).flat();
    const chunksIn = ({ day }: { day: number }) =>
      new Set(refs.filter((ref) => ref.day === day).map(({ entry }) => chunkIdentity(entry)));
    for (let round = 0; round < 5; round++) {
      const lacking = refs.filter((ref) => digests.lacks(ref));
      if (lacking.length > 0) await digests.learn(lacking, { ...noFiles, list, chunksIn }, pause);
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
        await digests.learn([ref], { ...noFiles, list, chunksIn }, pause);
      // Each query has filters of its own.
      told.push(digests.rowsOf({ ...filter }, ref, view));
    }
    expect(told).toEqual(told.map(() => templates / 10));
  });

  test("days that were not used for a minute leave their room; what is known of the others stays right", async () => {
    const random = new Random(seed, 7);
    const levelTexts = ["info", undefined];
    const rowsIn = new Map<SealedChunkRef, Uint32Array>();
    const listRows: TemplateSource["list"] = async (refs, options) =>
      (await list(refs, options)).map((listed, i) => {
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
      const digests = new TemplateSummaries(3 * 1024 * 1024);
      const view = { longRuns: () => undefined } as unknown as ChunkView;
      const refs = Array.from({ length: 40 }, (_, day) => [refOf(day, 1), refOf(day, 2)]).flat();
      const chunksIn = () => new Set([1, 2].map((id) => chunkIdentity(refOf(0, id).entry)));
      const field = { kind: "message" } as const;
      const isKnown = (ref: SealedChunkRef) => digests.rowsOf({ ...filter }, ref, view) !== undefined;
      const filter = { kind: "contains", field, text: "template a", ignoreCase: false } as const;
      for (const ref of refs) {
        vi.advanceTimersByTime(61_000);
        await digests.learn([ref], { ...noFiles, list: listRows, chunksIn }, pause);
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
    const listRows: TemplateSource["list"] = async (some, options) =>
      (await list(some, options)).map((listed, i) => {
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
      const files = new Map<string, Uint8Array>();
      const inMemory: Omit<TemplateSource, "list" | "chunksIn"> = {
        isNewest: () => true,
        read: async (dir) => files.get(dir),
        write: async (dir, frames) => void files.set(dir, Buffer.concat(frames)),
      };
      let added = 0;
      let isAdding = false;
      // Other work of the thread, in the pauses of the call that is tested.
      const disturb = async () => {
        if (isAdding || random.below(3) > 0) return;
        isAdding = true;
        vi.advanceTimersByTime(random.below(2) * 61_000);
        if (random.below(4) === 0) digests.forget(`day ${random.below(24)}`);
        await digests.learn(refs.slice(added, ++added), { ...inMemory, list: listRows, chunksIn }, pause);
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

  describe("the file of a day", () => {
    // One chunk more than eight frames have; it has one group of rows.
    const refs = Array.from({ length: 65 }, (_, id) => refOf(0, id));
    const chunksIn = () => new Set(refs.map(({ entry }) => chunkIdentity(entry)));
    const listGrouped: TemplateSource["list"] = async (some, options) =>
      (await list(some, options)).map((listed, i) => {
        const rows = some[i] === refs.at(-1) ? listed.rows.subarray(0, 1) : listed.rows;
        const vectors = { levels: new Uint8Array(rows.length), firstMs: rows, lastMs: rows };
        return {
          ...listed,
          groups: { templates: rows.map((_, k) => k), rows, ...vectors, levelTexts: ["info"] },
        };
      });
    let file: Uint8Array | undefined;
    const source: TemplateSource = {
      ...{ chunksIn, list: listGrouped, isNewest: () => false },
      read: async (_, bytesMax) => (file!.byteLength > bytesMax ? undefined : file),
      write: async (_, frames) => {
        file = Buffer.concat(frames);
      },
    };
    const large = 64 * 1024 * 1024;
    const view = {} as ChunkView;
    const goOn = () => false;

    /** The rows of each chunk that hold a text of every tenth template; undefined of chunks that are not known. */
    const holding = (digests: TemplateSummaries) => {
      const field = { kind: "message" } as const;
      const filter = { kind: "contains", field, text: "template a", ignoreCase: false } as const;
      return refs.map((ref) => digests.rowsOf(filter, ref, view));
    };
    const all = refs.map((_, i) => (i < 64 ? templates / 10 : 1));

    beforeEach(async () => {
      await new TemplateSummaries(large).learn(refs, source, pause);
    });

    test("gives what was listed", async () => {
      const digests = new TemplateSummaries(large);
      expect(digests.canRecall(refs)).toBe(true);
      await digests.recall(refs, source, pause, goOn);
      expect(digests.canRecall(refs)).toBe(false);
      expect(holding(digests)).toEqual(all);
      const { groups, names } = (await digests.dayGroupsOf(refs.slice(-1), pause))!;
      expect([...groups.rows]).toEqual([1]);
      expect(names.idOf(groups.templates[0]!)).toBe(templateIdOf(textOf(0, 0)));
    });

    test("is read in part where it does not fit into the memory", async () => {
      const knownWith = async (bytesMax: number) => {
        const digests = new TemplateSummaries(bytesMax);
        await digests.recall(refs, source, pause, goOn);
        expect(digests.canRecall(refs)).toBe(false);
        const known = holding(digests);
        expect(known).toEqual(all.map((rows, i) => (known[i] === undefined ? undefined : rows)));
        return known.filter((rows) => rows !== undefined).length;
      };
      const some = await knownWith(2 * 1024 * 1024);
      expect(some).toBeGreaterThan(0);
      expect(some).toBeLessThan(refs.length);
      expect(await knownWith(64 * 1024)).toBe(0);
    });

    test("is read by the next query where one ends before it is read", async () => {
      const digests = new TemplateSummaries(large);
      for (let asked = 0; asked < 6; asked++) {
        let left = asked;
        await digests.recall(refs, source, pause, () => left-- <= 0);
        expect(digests.canRecall(refs)).toBe(true);
      }
      await digests.recall(refs, source, pause, goOn);
      expect(holding(digests)).toEqual(all);
    });

    test("that cannot be read is as good as none", async () => {
      const digests = new TemplateSummaries(large);
      const read = async () => {
        throw new Error("EIO: i/o error, read");
      };
      await digests.recall(refs, { ...source, read }, pause, goOn);
      expect(holding(digests)).toEqual(refs.map(() => undefined));
      await digests.learn(refs, { ...source, read }, pause);
      expect(holding(digests)).toEqual(refs.map(() => templates / 10));
    });
  });

  test("nothing is learnt once it is to end", async () => {
    const digests = new TemplateSummaries(4 * 1024 * 1024);
    const refs = Array.from({ length: 100 }, (_, i) => refOf(0, i));
    const learning = digests.learn(refs, { ...noFiles, list, chunksIn: () => new Set() }, pause);
    await digests.endLearning();
    await learning;
    expect(asked.length).toBeLessThan(refs.length);
    expect(digests.lacks(refs.at(-1)!)).toBe(true);
  });
});
