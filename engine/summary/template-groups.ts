/** The rows of a chunk by template and level, with the times of the first and the last of each. */
import type { ChunkView } from "../chunk/chunk-view.ts";
import { dictionaryTexts } from "../column/column.ts";
import { densePointsMax } from "../limits.ts";
import type { Codes } from "../vector/codes.ts";

/** One entry in each vector for each template and level that has rows. */
export interface TemplateGroups {
  templates: Uint32Array;
  /** Indices in `levelTexts`. */
  levels: Uint8Array;
  rows: Uint32Array;
  /** Nanoseconds since the start of the day. */
  firstNs: Float64Array;
  lastNs: Float64Array;
  /** The levels as they were sent; undefined stands for rows without one. */
  levelTexts: readonly (string | undefined)[];
}

/** Levels that one code of a byte can tell apart. */
export const groupLevelsMax = 256;
/** Pairs of a template and a level that are added up: 24 bytes each for a moment. */
const sumCellsMax = 2_097_152;
/** Bytes of an entry in all vectors. */
export const templateGroupBytes = 4 + 1 + 4 + 8 + 8;

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
  return collectGroups(level.texts, {
    rows: counts,
    firstNs: (cell) => timeNs[first[cell]!]!,
    lastNs: (cell) => timeNs[last[cell]!]!,
  });
}

/**
 * Adds up the groups of some chunks of a day, which number templates and levels alike. Undefined where there may be too
 * many.
 */
export async function sumTemplateGroups(
  parts: readonly TemplateGroups[],
  templateCount: number,
  levelTexts: readonly (string | undefined)[],
  pause: () => Promise<void>,
): Promise<TemplateGroups | undefined> {
  const levelCount = levelTexts.length;
  if (templateCount * levelCount > sumCellsMax) return undefined;
  const rows = new Float64Array(templateCount * levelCount);
  const firstNs = new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY);
  const lastNs = new Float64Array(rows.length);
  for (const part of parts) {
    await pause();
    for (let i = 0; i < part.rows.length; i++) {
      const cell = part.templates[i]! * levelCount + part.levels[i]!;
      rows[cell] = rows[cell]! + part.rows[i]!;
      firstNs[cell] = Math.min(firstNs[cell]!, part.firstNs[i]!);
      lastNs[cell] = Math.max(lastNs[cell]!, part.lastNs[i]!);
    }
  }
  return collectGroups([...levelTexts], {
    rows,
    firstNs: (cell) => firstNs[cell]!,
    lastNs: (cell) => lastNs[cell]!,
  });
}

/** Numbers of all pairs of a template and a level: those of template t and level l are in cell t × levels + l. */
interface GroupCells {
  rows: ArrayLike<number>;
  firstNs: (cell: number) => number;
  lastNs: (cell: number) => number;
}

/** The groups of the cells that have rows. */
function collectGroups(levelTexts: readonly (string | undefined)[], cells: GroupCells): TemplateGroups {
  const { rows } = cells;
  let count = 0;
  for (let cell = 0; cell < rows.length; cell++) if (rows[cell]! > 0) count++;
  const groups = {
    templates: new Uint32Array(count),
    levels: new Uint8Array(count),
    rows: new Uint32Array(count),
    firstNs: new Float64Array(count),
    lastNs: new Float64Array(count),
    levelTexts,
  };
  for (let cell = 0, group = 0; cell < rows.length; cell++) {
    if (rows[cell] === 0) continue;
    groups.templates[group] = Math.floor(cell / levelTexts.length);
    groups.levels[group] = cell % levelTexts.length;
    groups.rows[group] = rows[cell]!;
    groups.firstNs[group] = cells.firstNs(cell);
    groups.lastNs[group++] = cells.lastNs(cell);
  }
  return groups;
}

/** The levels of a chunk and the code of each row's, undefined where all are the first. */
function readLevels(view: ChunkView): { texts: (string | undefined)[]; codes?: Codes } | undefined {
  const column = view.column({ kind: "level" });
  if (column.kind === "absent") return { texts: [undefined] };
  if (column.kind === "constant" && column.valid === null) return { texts: [column.value] };
  if (column.kind !== "dictionary" || column.valueCount >= groupLevelsMax) return undefined;
  return { texts: [...dictionaryTexts(column), undefined], codes: column.codes };
}
