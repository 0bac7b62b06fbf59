/** The rows of a chunk by template and level, with the times of the first and the last of each. */
import type { ChunkView } from "../chunk/chunk-view.ts";
import { dictionaryTexts } from "../column/column.ts";
import { densePointsMax } from "../limits.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { growArray } from "../vector/arrays.ts";
import type { Codes } from "../vector/codes.ts";
import { getOrMake } from "../vector/map-entry.ts";
import type { ChunkRows } from "./indexed-templates.ts";

/** One entry in each vector for each template and level that has rows. */
export interface TemplateGroups {
  templates: Uint32Array;
  /** Indices in `levelTexts`. */
  levels: Uint8Array;
  rows: Uint32Array;
  /** Milliseconds since the start of the day, rounded down. */
  firstMs: Uint32Array;
  lastMs: Uint32Array;
  /** The levels as they were sent; undefined stands for rows without one. */
  levelTexts: readonly (string | undefined)[];
}

/** Levels that one code of a byte can tell apart. */
const groupLevelsMax = 256;
/** Groups that are added up before other work of the thread may run. */
const groupsATurn = 4_096;
/** Bytes of an entry in all vectors. */
export const templateGroupBytes = 4 + 1 + 4 + 4 + 4;

/**
 * Groups the rows of a chunk. `codes`: the template of each row. Undefined where there are too many levels, or too many
 * pairs of a template and a level.
 */
export function listTemplateGroups(
  view: ChunkView,
  codes: Codes,
  templateCount: number,
): TemplateGroups | undefined {
  const level = readLevels(view);
  const levelCount = level?.texts.length ?? 0;
  if (level === undefined || templateCount * levelCount > densePointsMax) return undefined;
  const counts = new Uint32Array(templateCount * levelCount);
  const first = new Uint32Array(counts.length);
  const last = new Uint32Array(counts.length);
  // Rows are in order of time, so the first row of a group has its first time.
  for (let row = 0; row < codes.length; row++) {
    const cell = codes[row]! * levelCount + (level.codes === undefined ? 0 : level.codes[row]!);
    if (counts[cell] === 0) first[cell] = row;
    last[cell] = row;
    counts[cell] = counts[cell]! + 1;
  }
  const { timeNs } = view;
  const groups = new GroupColumns();
  for (let cell = 0; cell < counts.length; cell++) {
    if (counts[cell] === 0) continue;
    const group = groups.push(Math.floor(cell / levelCount), cell % levelCount);
    const [firstMs, lastMs] = [timeNs[first[cell]!]! / 1e6, timeNs[last[cell]!]! / 1e6];
    groups.add(group, counts[cell]!, Math.floor(firstMs), Math.floor(lastMs));
  }
  return groups.finish(level.texts);
}

/**
 * Adds up the groups of some chunks that number templates alike. The levels of the sum are those that occur; undefined where
 * they are too many. Throws what `pause` throws.
 */
export async function sumTemplateGroups(
  parts: readonly TemplateGroups[],
  pause: YieldThread,
): Promise<TemplateGroups | undefined> {
  const levelTexts: (string | undefined)[] = [];
  /** The group of each template and level. */
  const groupOf = new Map<number, number>();
  const sum = new GroupColumns();
  for (const part of parts) {
    const levels = part.levelTexts.map((text) => findOrPush(levelTexts, text));
    if (levelTexts.length > groupLevelsMax) return undefined;
    for (let i = 0; i < part.rows.length; i++) {
      if (i % groupsATurn === groupsATurn - 1) await pause();
      const [template, level] = [part.templates[i]!, levels[part.levels[i]!]!];
      const cell = template * groupLevelsMax + level;
      const group = getOrMake(groupOf, cell, () => sum.push(template, level));
      sum.add(group, part.rows[i]!, part.firstMs[i]!, part.lastMs[i]!);
    }
  }
  return sum.finish(levelTexts);
}

/** The groups with other numbers of their templates. */
export function numberTemplates<T extends { templates: Uint32Array }>(groups: T, numbers: Uint32Array): T {
  return { ...groups, templates: groups.templates.map((template) => numbers[template]!) };
}

/** The templates of a chunk's groups, each once, and the rows of each. */
export function addUpLevels({ templates, rows }: TemplateGroups): ChunkRows {
  const sums = { templates: new Uint32Array(rows.length), rows: new Uint32Array(rows.length) };
  let count = 0;
  for (let i = 0; i < rows.length; i++) {
    // The levels of a template stand together.
    if (i === 0 || templates[i] !== templates[i - 1]) sums.templates[count++] = templates[i]!;
    sums.rows[count - 1]! += rows[i]!;
  }
  return { templates: sums.templates.subarray(0, count), rows: sums.rows.subarray(0, count) };
}

export function bytesOfGroups(groups: TemplateGroups | undefined): number {
  return (groups?.rows.length ?? 0) * templateGroupBytes;
}

/** Returns whether the messages of a template pass all filters; see `KnownGroups.passing`. */
export function passAll(passing: readonly Uint8Array[], template: number): boolean {
  for (const each of passing) if (each[template] !== 1) return false;
  return true;
}

/** The index of a text in a short list; it is added where the list lacks it. */
function findOrPush(texts: (string | undefined)[], text: string | undefined): number {
  const index = texts.indexOf(text);
  return index >= 0 ? index : texts.push(text) - 1;
}

/** The vectors of groups, which grow. */
class GroupColumns {
  #count = 0;
  #templates = new Uint32Array(1_024);
  #levels = new Uint8Array(1_024);
  #rows = new Uint32Array(1_024);
  #firstMs = new Uint32Array(1_024);
  #lastMs = new Uint32Array(1_024);

  /** Adds a group without rows, and returns its index. */
  push(template: number, level: number): number {
    if (this.#count === this.#rows.length) this.#grow();
    this.#templates[this.#count] = template;
    this.#levels[this.#count] = level;
    this.#firstMs[this.#count] = 0xffffffff;
    return this.#count++;
  }

  add(group: number, rows: number, firstMs: number, lastMs: number): void {
    this.#rows[group]! += rows;
    this.#firstMs[group] = Math.min(this.#firstMs[group]!, firstMs);
    this.#lastMs[group] = Math.max(this.#lastMs[group]!, lastMs);
  }

  finish(levelTexts: readonly (string | undefined)[]): TemplateGroups {
    return {
      templates: this.#templates.slice(0, this.#count),
      levels: this.#levels.slice(0, this.#count),
      rows: this.#rows.slice(0, this.#count),
      firstMs: this.#firstMs.slice(0, this.#count),
      lastMs: this.#lastMs.slice(0, this.#count),
      levelTexts,
    };
  }

  #grow(): void {
    const length = this.#count * 2;
    this.#templates = growArray(this.#templates, length);
    this.#levels = growArray(this.#levels, length);
    this.#rows = growArray(this.#rows, length);
    this.#firstMs = growArray(this.#firstMs, length);
    this.#lastMs = growArray(this.#lastMs, length);
  }
}

/** The levels of a chunk and the code of each row's, undefined where all are the first. */
function readLevels(view: ChunkView): { texts: (string | undefined)[]; codes?: Codes } | undefined {
  const column = view.column({ kind: "level" });
  if (column.kind === "absent") return { texts: [undefined] };
  if (column.kind === "constant" && column.valid === null) return { texts: [column.value] };
  if (column.kind !== "dictionary" || column.valueCount >= groupLevelsMax) return undefined;
  return { texts: [...dictionaryTexts(column), undefined], codes: column.codes };
}
