/**
 * The templates of sealed chunks, day by day, with the rows of each. They give the number of messages that contain a text
 * without reading a column. A template that several days have is kept once.
 */

import { payloadBytesOf } from "../files/frame.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { TextBuilder } from "../vector/text.ts";
import { type AttributeGroups, attributeGroupsBytes } from "./attribute-groups.ts";
import type { DayGroups } from "./days-sum.ts";
import { type ChunkRows, IndexedTemplates } from "./indexed-templates.ts";
import { packChunks, packKeys, type StoredChunk, unpackChunks, unpackKeys } from "./stored-templates.ts";
import {
  addUpLevels,
  bytesOfGroups,
  numberTemplates,
  sumTemplateGroups,
  type TemplateGroups,
  templateGroupBytes,
} from "./template-groups.ts";
import type { ListedTemplates } from "./template-listing.ts";
import { type IndexedChunk, TextCounts } from "./text-counts.ts";

/** Maximum number of chunks, and about that of groups, in a frame: one is encoded or decoded without a pause. */
const frameChunksMax = 8;
const frameGroupsMax = 65_536;
/** A day whose templates have more bytes gets no file: each process lists its templates. */
const packedKeyBytesMax = 16 * 1024 * 1024;

/** A day whose templates are kept in a file. */
export interface StoredDay {
  /** Folder of its partition. */
  dir: string;
  /** Key of the frames of its file. */
  name: string;
}

/** Which chunks of a file are added. */
interface PackedOptions {
  /** By the chunk's identity. */
  isWanted: (chunk: string) => boolean;
  /** Maximum memory of the day. */
  bytesMax: number;
  /** Called before each frame; false ends the work. */
  goesOn: () => boolean;
}

/** A chunk to be added to the index. Its templates are in the index already, and given by their numbers there. */
interface NumberedChunk extends ChunkRows {
  chunk: string;
  rowGroups: TemplateGroups | undefined;
}

/** The rows of a chunk by template and level. */
export interface KnownGroups {
  groups: TemplateGroups;
  /** Names the templates; the same object for all chunks of an answer, unless days were dropped meanwhile. */
  names: Pick<IndexedTemplates, "size" | "idOf">;
  /** An array for each filter, which has 1 at the number of each template whose messages all pass. */
  passing: readonly Uint8Array[];
}

/** A chunk whose templates are known. */
interface KnownChunk extends IndexedChunk {
  /** Rows by level and by the numbers that templates have in the index. */
  rowGroups: TemplateGroups | undefined;
  /** Which attributes the rows have. Undefined until that was listed, null where it is not kept. */
  attributes: AttributeGroups | undefined | null;
}

/** What is known of one day. */
interface KnownDay {
  /** By chunk version; undefined for a chunk whose templates are not kept. */
  chunks: Map<string, KnownChunk | undefined>;
  /** The groups of the chunks that were added up last, and the key of these chunks. */
  groups: Pick<DayGroups, "key" | "groups"> | undefined;
  /** Estimated memory of groups. */
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

  /** Whether the attributes of a chunk's rows can be added: its templates are known, and its attributes are not. */
  lacksAttributes(dir: string, chunk: string): boolean {
    const known = this.#days.get(dir)?.chunks.get(chunk);
    return known?.rowGroups !== undefined && known.attributes === undefined;
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

  /** Notes that a chunk is not to be listed again. What is known of it already stays. */
  skip(dir: string, chunk: string): void {
    const { chunks } = this.#dayOf(dir);
    const known = chunks.get(chunk);
    if (known === undefined) chunks.set(chunk, undefined);
    else known.attributes = null;
  }

  /**
   * Adds the templates of a chunk, or the attributes of its rows where its templates are known. Nothing else may be added, and
   * `compact` not be called, until it is done.
   */
  async add(
    dir: string,
    { chunk, keys, ids, rows, groups, attributes }: ListedTemplates,
    pause: YieldThread,
  ): Promise<void> {
    const day = this.#dayOf(dir);
    const bytesBefore = this.#index.byteLength;
    const templates = await this.#index.addTemplates({ keys, ids }, pause);
    if (!day.chunks.has(chunk)) {
      const rowGroups = groups && numberTemplates(groups, templates);
      await this.#addChunks({ dir, day }, [{ chunk, rowGroups, templates, rows }], pause);
    }
    day.indexBytes += this.#index.byteLength - bytesBefore;
    const known = day.chunks.get(chunk);
    // Without the rows by level nobody asks for attributes.
    if (known?.rowGroups === undefined || attributes === undefined) return;
    known.attributes = attributes && numberTemplates(attributes, templates);
    day.ownBytes += attributeGroupsBytes(known.attributes);
  }

  /**
   * Adds the wanted chunks of a day's file, frame after frame, until the day takes `bytesMax` or `goesOn` returns false. Returns
   * the identities of the wanted chunks that it came to. As with `add`, nothing else may be added meanwhile. `pause` must not
   * throw. Throws Failure "damage".
   */
  async addPacked(
    { dir, name }: StoredDay,
    [keysFrame, ...frames]: readonly Uint8Array[],
    { isWanted, bytesMax, goesOn }: PackedOptions,
    pause: YieldThread,
  ): Promise<string[]> {
    if (keysFrame === undefined || payloadBytesOf(keysFrame) > bytesMax) return [];
    const day = this.#dayOf(dir);
    const bytesBefore = this.#index.byteLength;
    const found: string[] = [];
    try {
      const numbers = await this.#index.addTemplates(unpackKeys(name, keysFrame), pause);
      for (const frame of frames) {
        const bytes = this.#index.byteLength - bytesBefore + day.ownBytes;
        if (!goesOn() || bytes + payloadBytesOf(frame) > bytesMax) break;
        const added: NumberedChunk[] = [];
        for (const { chunk, groups } of unpackChunks(name, frame, numbers.length)) {
          await pause();
          if (!isWanted(chunk)) continue;
          found.push(chunk);
          const rowGroups = numberTemplates(groups, numbers);
          if (!this.has(dir, chunk)) added.push({ chunk, rowGroups, ...addUpLevels(rowGroups) });
        }
        await this.#addChunks({ dir, day }, added, pause);
      }
    } finally {
      day.indexBytes += this.#index.byteLength - bytesBefore;
    }
    return found;
  }

  /** The identities of the chunks that `pack` would write: those whose rows are known by template and level. */
  packable(dir: string): string[] {
    const chunks = [...(this.#days.get(dir)?.chunks ?? [])];
    return chunks.flatMap(([chunk, known]) => (known?.rowGroups === undefined ? [] : [chunk]));
  }

  /**
   * Encodes a day's chunks as the frames of its file; undefined where the templates have more than `packedKeyBytesMax` bytes.
   * Until it resolves, no chunk may be added and `compact` must not be called.
   */
  async pack({ dir, name }: StoredDay, pause: YieldThread): Promise<Uint8Array[] | undefined> {
    const numbers = new Map<number, number>();
    const keys = new TextBuilder();
    const ids: string[] = [];
    const numberOf = (template: number) =>
      getOrMake(numbers, template, () => {
        const { bytes, from, to, classes } = this.#index.table.textOf(template);
        keys.pushBytes(bytes.subarray(from, to + classes.length));
        ids.push(this.#index.idOf(template));
        return numbers.size;
      });
    const frames: Uint8Array[] = [];
    let chunks: StoredChunk[] = [];
    let groupCount = 0;
    const endFrame = () => {
      if (chunks.length > 0) frames.push(packChunks(name, chunks));
      chunks = [];
      groupCount = 0;
    };
    for (const [chunk, known] of [...(this.#days.get(dir)?.chunks ?? [])]) {
      await pause();
      if (known?.rowGroups === undefined) continue;
      const groups = { ...known.rowGroups, templates: known.rowGroups.templates.map(numberOf) };
      chunks.push({ chunk, groups });
      groupCount += groups.rows.length;
      if (keys.byteLength > packedKeyBytesMax) return undefined;
      if (chunks.length === frameChunksMax || groupCount > frameGroupsMax) endFrame();
    }
    endFrame();
    await pause();
    const packed = { keys: keys.finish(), ids: Buffer.from(ids.join(""), "latin1") };
    return [packKeys(name, packed), ...frames];
  }

  /** Returns whether the chunk's row counts by template and level are in memory. */
  hasGroups(dir: string, chunk: string): boolean {
    return this.#days.get(dir)?.chunks.get(chunk)?.rowGroups !== undefined;
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
      day.ownBytes -= bytesOfGroups(known.rowGroups) + attributeGroupsBytes(known.attributes);
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
      const attributes = chunk.attributes && numberTemplates(chunk.attributes, templates);
      renumbered.set(chunk, { ...chunk, number, rowGroups, attributes });
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
   * Counts the rows of a chunk that pass; undefined where its templates do not decide that. `filters`: the n-gram
   * and token filters of the chunk's variables.
   */
  rowsOf(filter: MessageTextFilter, dir: string, chunk: string, filters: GroupFilters): number | undefined {
    const known = this.#use(dir)?.chunks.get(chunk);
    return known && this.#counts.exactCount(filter, known, filters)?.rows[known.number];
  }

  /**
   * The rows of a chunk by template and level, and which templates pass all texts; undefined where its templates do
   * not decide that. `filters` as above.
   */
  groupsOf(
    texts: readonly MessageTextFilter[],
    dir: string,
    chunk: string,
    filters: GroupFilters,
  ): KnownGroups | undefined {
    const known = this.#use(dir)?.chunks.get(chunk);
    if (known?.rowGroups === undefined) return undefined;
    const passing: Uint8Array[] = [];
    for (const filter of texts) {
      const count = this.#counts.exactCount(filter, known, filters);
      if (count === undefined) return undefined;
      passing.push(count.passing);
    }
    return { groups: known.rowGroups, names: this.#index, passing };
  }

  /** Which attributes the rows of a chunk have; undefined where that is not known. */
  attributesOf(dir: string, chunk: string): AttributeGroups | undefined {
    return this.#days.get(dir)?.chunks.get(chunk)?.attributes ?? undefined;
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

  async #addChunks(
    { dir, day }: { dir: string; day: KnownDay },
    chunks: readonly NumberedChunk[],
    pause: YieldThread,
  ): Promise<void> {
    const added = await this.#index.addChunks(chunks, pause);
    if (this.#days.get(dir) !== day) {
      // The day was dropped meanwhile.
      this.#droppedChunks += chunks.length;
      return;
    }
    for (const [i, { chunk, rowGroups }] of chunks.entries()) {
      day.chunks.set(chunk, { ...added[i]!, rowGroups, attributes: undefined });
      day.ownBytes += bytesOfGroups(rowGroups);
    }
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
