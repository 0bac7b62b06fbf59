/**
 * The templates of sealed chunks, day by day, with the rows of each. They tell how many messages contain a text without
 * reading a column. A template that several days have is kept once.
 */

import type { MessageTextFilter } from "../filter/message-search.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import type { DayGroups } from "./days-sum.ts";
import { IndexedTemplates } from "./indexed-templates.ts";
import { sumTemplateGroups, type TemplateGroups, templateGroupBytes } from "./template-groups.ts";
import type { ListedTemplates } from "./template-listing.ts";
import { type IndexedChunk, type TextCount, TextCounts } from "./text-counts.ts";

/** The rows of a chunk by template and level. */
export interface KnownGroups {
  groups: TemplateGroups;
  /** Names the templates; the same object for all chunks of an answer, unless days were dropped meanwhile. */
  names: Pick<IndexedTemplates, "size" | "idOf">;
  /** Returns whether the messages of a template pass the filters. */
  passes: (template: number) => boolean;
}

/** A chunk whose templates are known. */
interface KnownChunk extends IndexedChunk {
  /** Rows by level and by the numbers that templates have in the index. */
  rowGroups: TemplateGroups | undefined;
}

/** What is known of one day. */
interface KnownDay {
  /** By chunk version; undefined for a chunk whose templates are not kept. */
  chunks: Map<string, KnownChunk | undefined>;
  /** The groups of the chunks that were added up last, and the key of these chunks. */
  groups: Pick<DayGroups, "key" | "groups"> | undefined;
  /** Estimated memory of filters and groups. */
  ownBytes: number;
  /** Bytes by which the index grew when the day's chunks were added. */
  indexBytes: number;
  /** Last use, by `performance.now`. */
  usedMs: number;
}

export class KnownTemplates {
  #index = new IndexedTemplates();
  #counts = new TextCounts(this.#index);
  /** By the folder of their partition. */
  readonly #days = new Map<string, KnownDay>();
  /** Number of chunks that were dropped, and that the index still has. */
  #droppedChunks = 0;

  /** Estimated memory in bytes. */
  get byteLength(): number {
    let bytes = this.#index.byteLength;
    for (const { ownBytes, groups } of this.#days.values())
      bytes += ownBytes + (groups?.groups.rows.length ?? 0) * templateGroupBytes;
    return bytes;
  }

  /** Whether most chunks of the index were dropped. */
  get isMostlyDropped(): boolean {
    return this.#droppedChunks * 2 > this.#index.chunkCount;
  }

  has(dir: string, chunk: string): boolean {
    return this.#days.get(dir)?.chunks.has(chunk) === true;
  }

  /** Estimated memory in bytes of a day. Templates that other days have, too, are counted with the day that had them first. */
  bytesOf(dir: string): number {
    const day = this.#days.get(dir);
    return day === undefined ? 0 : day.ownBytes + day.indexBytes;
  }

  /** The days and when they were last used, the least recently used first. */
  byUse(): { dir: string; usedMs: number }[] {
    const days = Array.from(this.#days, ([dir, { usedMs }]) => ({ dir, usedMs }));
    return days.sort((a, b) => a.usedMs - b.usedMs);
  }

  /** Notes that the templates of a chunk are not kept. */
  skip(dir: string, chunk: string): void {
    this.#dayOf(dir).chunks.set(chunk, undefined);
  }

  /** Adds the templates of a chunk. Nothing else may be added, and `compact` not be called, until it is done. */
  async add(
    dir: string,
    { chunk, keys, rows, ngrams, groups: listed }: ListedTemplates,
    pause: YieldThread,
  ): Promise<void> {
    const day = this.#dayOf(dir);
    const index = this.#index;
    const bytesBefore = index.byteLength;
    const { chunk: number, templates, groups } = await index.add(keys, rows, pause);
    if (this.#days.get(dir) !== day) {
      // The day was dropped meanwhile.
      this.#droppedChunks++;
      return;
    }
    const rowGroups = listed && numberTemplates(listed, templates);
    day.chunks.set(chunk, { number, groups, ngrams, rowGroups });
    day.indexBytes += index.byteLength - bytesBefore;
    day.ownBytes += bytesOfChunk({ ngrams, rowGroups });
  }

  /** Drops a day, whose memory `compact` frees. Returns whether the day was known. */
  drop(dir: string): boolean {
    this.dropChunks(dir, () => false);
    return this.#days.delete(dir);
  }

  /** Drops the chunks of a day that are not kept. */
  dropChunks(dir: string, isKept: (chunk: string) => boolean): void {
    const day = this.#days.get(dir);
    if (day === undefined) return;
    for (const [chunk, known] of day.chunks) {
      if (isKept(chunk)) continue;
      // Each chunk counts for an equal part of what the index grew by.
      day.indexBytes *= (day.chunks.size - 1) / day.chunks.size;
      day.chunks.delete(chunk);
      if (known === undefined) continue;
      day.ownBytes -= bytesOfChunk(known);
      this.#droppedChunks++;
    }
  }

  /**
   * Frees the memory of what was dropped. Until it is done both copies are in memory, and nothing may be added. Throws what
   * `pause` throws.
   */
  async compact(pause: YieldThread): Promise<void> {
    const bytesBefore = this.#days.values().reduce((sum, { indexBytes }) => sum + indexBytes, 0);
    const known = this.#knownChunks();
    const numbers = new Int32Array(this.#index.chunkCount).fill(-1);
    for (const [i, { number }] of known.entries()) numbers[number] = i;
    const { index, templates } = await this.#index.copy(numbers, pause);
    const renumbered = new Map<KnownChunk, KnownChunk>();
    for (const [number, chunk] of known.entries()) {
      await pause();
      const rowGroups = chunk.rowGroups && numberTemplates(chunk.rowGroups, templates);
      renumbered.set(chunk, { ...chunk, number, rowGroups });
    }
    for (const day of this.#days.values()) {
      day.groups = undefined;
      day.indexBytes *= index.byteLength / Math.max(bytesBefore, 1);
      for (const [chunk, old] of day.chunks)
        if (old !== undefined) day.chunks.set(chunk, renumbered.get(old)!);
    }
    this.#index = index;
    this.#counts = new TextCounts(index);
    // Chunks may have been dropped meanwhile.
    this.#droppedChunks = known.length - this.#knownChunks().length;
  }

  /**
   * Counts the rows of a chunk that pass; undefined where its templates do not decide that. `tokens` returns the token
   * filter of a group of the chunk's variables.
   */
  rowsOf(
    filter: MessageTextFilter,
    dir: string,
    chunk: string,
    tokens: GroupFilters["tokens"],
  ): number | undefined {
    const known = this.#use(dir)?.chunks.get(chunk);
    return known && this.#counts.exactCount(filter, known, tokens)?.rows[known.number];
  }

  /**
   * The rows of a chunk by template and level, and which templates pass all filters; undefined where its templates do
   * not decide that. `tokens` as above.
   */
  groupsOf(
    filters: readonly MessageTextFilter[],
    dir: string,
    chunk: string,
    tokens: GroupFilters["tokens"],
  ): KnownGroups | undefined {
    const known = this.#use(dir)?.chunks.get(chunk);
    if (known?.rowGroups === undefined) return undefined;
    const counts: TextCount[] = [];
    for (const filter of filters) {
      const count = this.#counts.exactCount(filter, known, tokens);
      if (count === undefined) return undefined;
      counts.push(count);
    }
    const passes = (template: number) => counts.every(({ passing }) => passing.has(template));
    return { groups: known.rowGroups, names: this.#index, passes };
  }

  /** All rows of some chunks of a day by template and level; undefined where that is not known of each of them. */
  async dayGroupsOf(
    dir: string,
    chunks: readonly string[],
    pause: YieldThread,
  ): Promise<Omit<DayGroups, "day"> | undefined> {
    const day = this.#use(dir);
    if (day === undefined) return undefined;
    const key = JSON.stringify([dir, chunks.toSorted()]);
    const index = this.#index;
    if (day.groups?.key === key) return { groups: day.groups.groups, names: index, key };
    const parts: TemplateGroups[] = [];
    for (const chunk of chunks) {
      const groups = day.chunks.get(chunk)?.rowGroups;
      if (groups === undefined) return undefined;
      parts.push(groups);
    }
    const groups = await sumTemplateGroups(parts, pause);
    if (groups === undefined) return undefined;
    // `compact` may have numbered the templates anew meanwhile.
    if (index === this.#index) day.groups = { key, groups };
    return { groups, names: index, key };
  }

  #dayOf(dir: string): KnownDay {
    const usedMs = performance.now();
    const day = this.#days.get(dir) ?? {
      chunks: new Map(),
      groups: undefined,
      ownBytes: 0,
      indexBytes: 0,
      usedMs,
    };
    this.#days.set(dir, day);
    return day;
  }

  #use(dir: string): KnownDay | undefined {
    const day = this.#days.get(dir);
    if (day !== undefined) day.usedMs = performance.now();
    return day;
  }

  #knownChunks(): KnownChunk[] {
    return [...this.#days.values()].flatMap(({ chunks }) =>
      [...chunks.values()].filter((known) => known !== undefined),
    );
  }
}

/** The groups with other numbers of their templates. */
function numberTemplates(groups: TemplateGroups, numbers: Uint32Array): TemplateGroups {
  return { ...groups, templates: groups.templates.map((template) => numbers[template]!) };
}

/** Estimated memory of a chunk's filters and groups. */
function bytesOfChunk({ ngrams, rowGroups }: Pick<KnownChunk, "ngrams" | "rowGroups">): number {
  const filterBytes = ngrams.reduce((sum, bits) => sum + (bits?.byteLength ?? 0), 0);
  return filterBytes + (rowGroups?.rows.length ?? 0) * templateGroupBytes;
}
