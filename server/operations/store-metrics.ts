/** Metrics of the store and of the process. */

import { type SignalCounts, type State, type Store, signals, writeReasons } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";

/** Registers metrics of the store and the process, which are read at each scrape. */
export function registerStoreMetrics(metrics: Metrics, store: Store, state: State): void {
  const stats = cacheFor(1_000, () => store.stats());
  const count = (name: string, help: string, read: (stats: SignalCounts) => number) => {
    metrics.gauge(name, help, () => signals.map((signal) => [{ signal }, read(stats().signals[signal])]));
  };
  count(
    "svc_store_rows",
    "Rows in the store, by signal. Samples that were sent again count until they are sealed.",
    ({ rows }) => rows,
  );
  count(
    "svc_store_unsealed_rows",
    "Rows that are in the journal and in memory, not yet in chunks, by signal.",
    ({ unsealedRows }) => unsealedRows,
  );
  count("svc_store_chunks", "Chunks in the store, by signal.", ({ chunks }) => chunks);
  count("svc_store_partitions", "Partitions (days) in the store, by signal.", ({ partitions }) => partitions);
  count("svc_store_bytes", "Bytes of the partitions' files, by signal.", ({ bytes }) => bytes);
  metrics.gauge("svc_store_journal_bytes", "Bytes of the journal's files.", () => stats().journalBytes);
  const written = (name: string, help: string, unit: "rows" | "bytes") => {
    metrics.read("counter", name, help, () =>
      writeReasons.map((reason) => [{ reason }, stats().written[reason][unit]]),
    );
  };
  written(
    "svc_store_written_rows_total",
    "Rows that were written into the journal, compacted in memory, sealed into chunks and merged.",
    "rows",
  );
  written(
    "svc_store_written_bytes_total",
    "Bytes of these rows on disk, without the pages of LMDB around them.",
    "bytes",
  );
  metrics.gauge("svc_store_damaged_places", "Stored values that were found damaged and quarantined.", () => {
    return stats().damage.length + state.damage.length;
  });
  metrics.gauge(
    "svc_retention_held_days",
    "Days that look too old by the clock but are kept, because they are many at once or no row is as new.",
    () => stats().retentionHeldDays,
  );
  metrics.gauge("process_resident_memory_bytes", "Resident memory of the process.", () =>
    process.memoryUsage.rss(),
  );
  metrics.gauge("svc_javascript_heap_bytes", "JavaScript heap in use.", () => process.memoryUsage().heapUsed);
  metrics.read("counter", "process_cpu_seconds_total", "CPU time of the process, user and system.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  metrics.gauge("process_start_time_seconds", "Start of the process, Unix time.", () => startSeconds);
}

/** Caches a value for `ms`, so that all metrics of one scrape share one read of the store. */
function cacheFor<T>(ms: number, make: () => T): () => T {
  let value = make();
  let readAtMs = performance.now();
  return () => {
    if (performance.now() - readAtMs >= ms) {
      value = make();
      readAtMs = performance.now();
    }
    return value;
  };
}
