/**
 * The templates of sealed chunks, day by day, with the rows of each. They tell how many messages contain a text without
 * reading a column. A template that several days have is kept once.
 */

import type { MessageTextFilter } from "../filter/message-search.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import { IndexedTemplates } from "./indexed-templates.ts";
import {
  groupLevelsMax,
  sumTemplateGroups,
  type TemplateGroups,
  templateGroupBytes,
} from "./template-groups.ts";
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
  /** Rows by the numbers that templates and levels have in the index. */
  rowGroups: TemplateGroups | undefined;
}

/** What is known of one day. */
interface KnownDay {
  /** By chunk version; undefined for a chunk whose templates are not kept. */
  chunks: Map<string, KnownChunk | undefined>;
  /** The groups of the chunks that were added up last. */
  total: { chunks: ReadonlySet<string>; groups: TemplateGroups } | undefined;
  /** Estimated memory of filters and groups. */
  ownBytes: number;
  /** What the index grew by. */
  indexBytes: number;
  /** Last use, by `performance.now`. */
  usedMs: number;
}

export class KnownTemplates {
  #index = new IndexedTemplates();
  #counts = new TextCounts(this.#index);
  /** By the folder of their partition. */
  readonly #days = new Map<string, KnownDay>();
  /** Chunks of the index that are not known any more. */
  #droppedChunks = 0;
  /** The levels of all groups, as they were sent; undefined stands for rows without one. */
  readonly #levels: (string | undefined)[] = [];

  /** Estimated memory in bytes. */
  get byteLength(): number {
    let bytes = this.#index.byteLength;
    for (const { ownBytes, total } of this.#days.values())
      bytes += ownBytes + (total?.groups.rows.length ?? 0) * templateGroupBytes;
    return bytes;
  }

  /** Whether most chunks of the index are not known any more. */
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
    const rowGroups = this.#numberGroups(listed, templates);
    day.chunks.set(chunk, { number, groups, ngrams, rowGroups });
    day.indexBytes += index.byteLength - bytesBefore;
    day.ownBytes += bytesOfChunk({ ngrams, rowGroups });
    this.#counts.forget();
  }

  /** Drops a day. Its memory is free after `compact`. */
  drop(dir: string): void {
    const day = this.#days.get(dir);
    if (day === undefined) return;
    this.dropChunks(dir, (chunk) => !day.chunks.has(chunk));
    this.#days.delete(dir);
  }

  /** Drops the chunks of a day that are not kept. */
  dropChunks(dir: string, isKept: (chunk: string) => boolean): void {
    const day = this.#days.get(dir);
    for (const [chunk, known] of day?.chunks ?? []) {
      if (isKept(chunk)) continue;
      day!.chunks.delete(chunk);
      if (known === undefined) continue;
      day!.ownBytes -= bytesOfChunk(known);
      this.#droppedChunks++;
    }
  }

  /** Frees the memory of what was dropped. Nothing may be added until it is done. */
  async compact(pause: YieldThread): Promise<void> {
    const bytesBefore = this.#days.values().reduce((sum, { indexBytes }) => sum + indexBytes, 0);
    const numbers = new Int32Array(this.#index.chunkCount).fill(-1);
    let count = 0;
    for (const { number } of this.#knownChunks()) numbers[number] = count++;
    const { index, templates } = await this.#index.copy(numbers, pause);
    // Chunks may have been dropped meanwhile.
    this.#droppedChunks = count - this.#knownChunks().length;
    for (const day of this.#days.values()) {
      day.total = undefined;
      day.indexBytes *= index.byteLength / Math.max(bytesBefore, 1);
      for (const [chunk, known] of day.chunks) {
        if (known === undefined) continue;
        const rowGroups = known.rowGroups && {
          ...known.rowGroups,
          templates: known.rowGroups.templates.map((template) => templates[template]!),
        };
        day.chunks.set(chunk, { ...known, number: numbers[known.number]!, rowGroups });
      }
    }
    this.#index = index;
    this.#counts = new TextCounts(index);
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
  async totalOf(
    dir: string,
    chunks: readonly string[],
    pause: YieldThread,
  ): Promise<KnownGroups | undefined> {
    const day = this.#use(dir);
    if (day === undefined) return undefined;
    const index = this.#index;
    const passes = () => true;
    const { total } = day;
    const isSame = total?.chunks.size === chunks.length && chunks.every((chunk) => total.chunks.has(chunk));
    if (isSame) return { groups: total.groups, names: index, passes };
    const parts: TemplateGroups[] = [];
    for (const chunk of chunks) {
      const groups = day.chunks.get(chunk)?.rowGroups;
      if (groups === undefined) return undefined;
      parts.push(groups);
    }
    const groups = await sumTemplateGroups(parts, index.size, this.#levels, pause);
    if (groups === undefined) return undefined;
    // `compact` may have numbered the templates anew meanwhile.
    if (index === this.#index) day.total = { chunks: new Set(chunks), groups };
    return { groups, names: index, passes };
  }

  #dayOf(dir: string): KnownDay {
    const usedMs = performance.now();
    const day = this.#days.get(dir) ?? {
      chunks: new Map(),
      total: undefined,
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

  /** Numbers the templates and levels of a chunk's groups as the index does. `numbers`: those of the chunk's templates. */
  #numberGroups(groups: TemplateGroups | undefined, numbers: Uint32Array): TemplateGroups | undefined {
    if (groups === undefined) return undefined;
    const added = groups.levelTexts.filter((text) => !this.#levels.includes(text));
    if (this.#levels.length + added.length > groupLevelsMax) return undefined;
    this.#levels.push(...added);
    const levels = groups.levelTexts.map((text) => this.#levels.indexOf(text));
    return {
      ...groups,
      templates: groups.templates.map((template) => numbers[template]!),
      levels: groups.levels.map((level) => levels[level]!),
      levelTexts: this.#levels,
    };
  }
}

/** Estimated memory of a chunk's filters and groups. */
function bytesOfChunk({ ngrams, rowGroups }: Pick<KnownChunk, "ngrams" | "rowGroups">): number {
  const filterBytes = ngrams.reduce((sum, bits) => sum + (bits?.byteLength ?? 0), 0);
  return filterBytes + (rowGroups?.rows.length ?? 0) * templateGroupBytes;
}
