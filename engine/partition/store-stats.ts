/** Row, chunk and byte counts of an open store. */

import type { DamageReport } from "../model/damage-report.ts";
import { type Signal, signals } from "../model/signal.ts";
import type { Catalog, SignalCounts } from "./catalog.ts";
import type { WriteCounts } from "./write-counts.ts";

/** Counts over all signals, and of each signal. */
export interface StoreStats extends SignalCounts {
  signals: Record<Signal, SignalCounts>;
  /** Bytes of the parts in memory. */
  unsealedBytes: number;
  journalBytes: number;
  written: WriteCounts;
  /** Damage found while the store was opened and since: at most the first 1,000 reports. */
  damage: DamageReport[];
  /** Days that look too old but are kept: too many at once, or only the clock says so. */
  retentionHeldDays: number;
  /** Why the store refuses appends at present; undefined where it accepts them. */
  refusing: string | undefined;
}

/** Counts from the catalog; no file is read. */
export function countStored(catalog: Catalog): Pick<StoreStats, "signals" | "written"> & SignalCounts {
  const each = signals.map((signal) => [signal, { ...catalog.counts(signal) }] as const);
  const all = { rows: 0, unsealedRows: 0, chunks: 0, partitions: 0, bytes: 0 };
  for (const [, counts] of each) {
    for (const name of Object.keys(all) as (keyof SignalCounts)[]) all[name] += counts[name];
  }
  const written = structuredClone(catalog.written);
  return { ...all, signals: Object.fromEntries(each) as StoreStats["signals"], written };
}
