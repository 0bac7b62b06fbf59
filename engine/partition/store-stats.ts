/** Row, chunk and byte counts of an open store. */

import type { DamageReport } from "../model/damage-report.ts";
import { type Signal, signals } from "../model/signal.ts";
import type { Catalog, Partition } from "./catalog.ts";

/** Counts of one signal. */
export interface SignalStats {
  /** Sealed and unsealed rows (samples, for metrics). */
  rows: number;
  /** Rows in memory that are not sealed into chunks yet. */
  unsealedRows: number;
  chunks: number;
  partitions: number;
  /** Stored bytes of the sealed chunks. */
  bytes: number;
}

/** Counts over all signals, and of each signal. */
export interface StoreStats extends SignalStats {
  signals: Record<Signal, SignalStats>;
  /** Bytes of the parts in memory. */
  unsealedBytes: number;
  journalBytes: number;
  /** Damage found while the store was opened and since: at most the first 1,000 reports. */
  damage: DamageReport[];
  /** Days that look too old but are kept: too many at once, or only the clock says so. */
  retentionHeldDays: number;
  /** Why the store refuses appends at present; undefined where it accepts them. */
  refusing: string | undefined;
}

/** Counts from the catalog; no file is read. */
export function countStored(catalog: Catalog): Pick<StoreStats, "signals"> & SignalStats {
  const each = signals.map((signal) => [signal, countPartitions(catalog.partitions(signal))] as const);
  return {
    ...countPartitions(catalog.partitions()),
    signals: Object.fromEntries(each) as StoreStats["signals"],
  };
}

function countPartitions(partitions: readonly Partition[]): SignalStats {
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
