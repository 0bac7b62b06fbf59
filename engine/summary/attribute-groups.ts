/**
 * Which attributes the rows of each template of a chunk have. With it the fields of rows that templates find are counted
 * without reading a column.
 */
import type { ChunkView } from "../chunk/chunk-view.ts";
import { hasValue } from "../column/column.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { Codes } from "../vector/codes.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { passAll } from "./template-groups.ts";

/** The rows of a chunk by template and by the combination of attributes that they have. */
export interface AttributeGroups {
  /** The keys of attributes that some rows of the chunk have and others lack. */
  keys: readonly string[];
  /** The keys of each combination, as indices in `keys`, one combination after the other. */
  setKeys: Uint16Array;
  /** For each combination where its keys begin in `setKeys`, and one entry more for the end. */
  setOffsets: Uint32Array;
  /** One entry in each of these vectors for each template and combination that has rows. */
  templates: Uint32Array;
  sets: Uint16Array;
  rows: Uint32Array;
}

/** Chunks with more combinations are read for each question: their groups would take the memory of many others. */
const setsMax = 4_096;
/** Bytes of an entry in all vectors of groups. */
const groupBytes = 4 + 2 + 4;
/** Memory of a key beside its characters, of which each takes two bytes at most. */
const keyBytes = 40;

/**
 * Groups the rows of a chunk by attributes that have columns of their own. `codes`: the template of each row. Null where
 * there are too many combinations.
 */
export async function listAttributeGroups(
  view: ChunkView,
  codes: Codes,
  pause: YieldThread,
): Promise<AttributeGroups | null> {
  const columns = view.header.columns.all();
  const optional = columns.filter(({ role, present }) => role === "attribute" && present < view.rows);
  const keys = optional.map(({ key }) => key);
  const combinations = new Combinations(view.rows);
  for (const [i, key] of keys.entries()) {
    await pause();
    const column = view.column({ kind: "attribute", key });
    combinations.divide(i, (row) => hasValue(column, row));
    if (combinations.count > setsMax) return null;
  }
  return { keys, ...combinations.finish(), ...countGroups(codes, combinations.sets) };
}

/** Estimated memory in bytes. */
export function attributeGroupsBytes(groups: AttributeGroups | undefined | null): number {
  if (groups === undefined || groups === null) return 0;
  const { keys, setKeys, setOffsets, rows } = groups;
  const ofKeys = keys.reduce((sum, { length }) => sum + keyBytes + length * 2, 0);
  return ofKeys + setKeys.byteLength + setOffsets.byteLength + rows.length * groupBytes;
}

/** Adds up, for each key, the rows that have it, of the templates that pass; see `KnownGroups.passing`. */
export function countAttributeRows(groups: AttributeGroups, passing: readonly Uint8Array[]): Float64Array {
  const { keys, setKeys, setOffsets, templates, sets, rows } = groups;
  const ofSets = new Float64Array(setOffsets.length - 1);
  for (let i = 0; i < rows.length; i++) if (passAll(passing, templates[i]!)) ofSets[sets[i]!]! += rows[i]!;
  const ofKeys = new Float64Array(keys.length);
  for (const [set, count] of ofSets.entries()) {
    if (count === 0) continue;
    for (let at = setOffsets[set]!; at < setOffsets[set + 1]!; at++) ofKeys[setKeys[at]!]! += count;
  }
  return ofKeys;
}

/** The combinations of keys that the rows of a chunk have. */
class Combinations {
  /** For each row the number of its combination. */
  readonly sets: Uint16Array;
  #keysOf: number[][] = [[]];

  constructor(rows: number) {
    this.sets = new Uint16Array(rows);
  }

  get count(): number {
    return this.#keysOf.length;
  }

  /** Divides each combination into the rows that have a key and those that lack it. */
  divide(key: number, isPresent: (row: number) => boolean): void {
    const { sets } = this;
    const divided: number[][] = [];
    // The new numbers of combination c: at 2c for its rows without the key, at 2c + 1 for those with it; -1 before there is one.
    const numbers = new Int32Array(this.count * 2).fill(-1);
    for (let row = 0; row < sets.length; row++) {
      const set = sets[row]!;
      const cell = set * 2 + (isPresent(row) ? 1 : 0);
      if (numbers[cell]! < 0) {
        const keys = this.#keysOf[set]!;
        numbers[cell] = divided.push(cell % 2 === 0 ? keys : [...keys, key]) - 1;
      }
      sets[row] = numbers[cell]!;
    }
    this.#keysOf = divided;
  }

  finish(): Pick<AttributeGroups, "setKeys" | "setOffsets"> {
    const setOffsets = new Uint32Array(this.count + 1);
    for (const [set, keys] of this.#keysOf.entries()) setOffsets[set + 1] = setOffsets[set]! + keys.length;
    return { setKeys: Uint16Array.from(this.#keysOf.flat()), setOffsets };
  }
}

function countGroups(codes: Codes, sets: Uint16Array): Pick<AttributeGroups, "templates" | "sets" | "rows"> {
  const counts = new Map<number, { rows: number }>();
  for (let row = 0; row < codes.length; row++) {
    const group = getOrMake(counts, codes[row]! * setsMax + sets[row]!, () => ({ rows: 0 }));
    group.rows++;
  }
  const groups = [...counts.keys()];
  return {
    templates: Uint32Array.from(groups, (group) => Math.floor(group / setsMax)),
    sets: Uint16Array.from(groups, (group) => group % setsMax),
    rows: Uint32Array.from(counts.values(), ({ rows }) => rows),
  };
}
