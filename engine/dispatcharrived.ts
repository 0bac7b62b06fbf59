/** Rows in the order of their arrival: who reads what, and how the parts become one answer. */
import { arrivalsOf } from "./arrived.ts";
import { askThreads, type Dispatch, foundRow, untilSound } from "./dispatch.ts";
import type { ArrivedAnswer, ArrivedRows, ArrivedSelection, ChunkRef, Control } from "./protocol.ts";
import type { FoundRow } from "./row.ts";
import type { RowSignal } from "./signal.ts";

export interface ArrivedQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive: of the rows' own times. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  /** Arrival numbers, exclusive. */
  after: number;
  /** Inclusive, at most the store's `arrivalMax`. */
  through: number;
  selections: readonly ArrivedSelection[];
}

/** What one selection found. */
export interface Arrived {
  /** In the order of arrival, from the first on; none where they are only counted. */
  rows: FoundRow[];
  /** Matching rows up to `through`. */
  count: number;
  /** Every matching row that arrived up to here is told: less than asked for where there are more rows than one answer has. */
  through: number;
}

export async function dispatchArrived(
  dispatch: Dispatch,
  query: ArrivedQuery,
  control: Control,
): Promise<Arrived[]> {
  const { signal, fromNs, toNs, after, through, selections } = query;
  const answers = await untilSound<ArrivedAnswer>(dispatch, () => {
    const chunks = dispatch.catalog.chunksIn(signal, fromNs, toNs).filter((ref) => {
      const { min, max } = arrivalsOf(ref);
      return max > after && min <= through;
    });
    chunks.sort((a, b) => arrivalsOf(a).min - arrivalsOf(b).min);
    return askThreads(dispatch.shards, chunks, control, (part: ChunkRef[]) => {
      return { kind: "arrived", chunks: part, fromNs, toNs, after, through, selections, control };
    });
  });
  return selections.map(({ rowsMax }, i) => {
    return joined(
      answers.map(({ found }) => found[i]!),
      rowsMax,
      through,
    );
  });
}

/** Parts are told only as far as each of them goes. */
function joined(parts: readonly ArrivedRows[], rowsMax: number, asked: number): Arrived {
  const through = parts.reduce((least, part) => Math.min(least, part.through), asked);
  if (rowsMax === 0) return { rows: [], count: parts.reduce((sum, { count }) => sum + count, 0), through };
  const places = parts.flatMap(({ rows }) => {
    return Array.from(rows.arrival, (arrival, i) => ({ arrival, rows, i }));
  });
  const told = places.filter(({ arrival }) => arrival <= through).sort((a, b) => a.arrival - b.arrival);
  const rows = told.slice(0, rowsMax).map(({ rows, i }) => foundRow(rows, i));
  return { rows, count: rows.length, through: told.length > rowsMax ? rows.at(-1)!.arrival : through };
}
