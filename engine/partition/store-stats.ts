/** What a store holds, counted. */

import type { DamageReport } from "../model/damage-report.ts";
import { type Signal, signals } from "../model/signal.ts";
import type { Catalog, Partition } from "./catalog.ts";

export interface SignalStats {
  rows: number;
  unsealedRows: number;
  chunks: number;
  partitions: number;
  /** Of chunks as stored. */
  bytes: number;
}

/** All signals together, and each by itself. */
export interface StoreStats extends SignalStats {
  signals: Record<Signal, SignalStats>;
  unsealedBytes: number;
  journalBytes: number;
  damage: DamageReport[];
  /** Why the store takes no rows just now, if so. */
  refusing: string | undefined;
}

export function countStored(catalog: Catalog): Pick<StoreStats, "signals"> & SignalStats {
  const each = signals.map((signal) => [signal, statsOf(catalog.partitions(signal))] as const);
  return { ...statsOf(catalog.partitions()), signals: Object.fromEntries(each) as StoreStats["signals"] };
}

function statsOf(partitions: readonly Partition[]): SignalStats {
  const chunks = partitions.flatMap(({ manifest }) => manifest.chunks);
  const parts = partitions.flatMap((partition) => partition.parts);
  const unsealedRows = parts.reduce((sum, { rows }) => sum + rows, 0);
  return {
    rows: chunks.reduce((sum, { rows }) => sum + rows, unsealedRows),
    unsealedRows,
    chunks: chunks.length,
    partitions: partitions.length,
    bytes: chunks.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
