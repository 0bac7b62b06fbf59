/** The store: appends rows, searches them, keeps them. */

import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { type Backup, openBackup } from "./backup/backup.ts";
import type { EncodedBatch } from "./batch/batch.ts";
import { encodeBatch } from "./batch/batch-builder.ts";
import { encodeSampleBatch } from "./batch/sample-batch-builder.ts";
import type { ListedKeys } from "./chunk/chunk-header.ts";
import type { DamagedChunk } from "./chunk/chunk-ref.ts";
import { Failure } from "./failure.ts";
import { checkFormat } from "./files/format-version.ts";
import { lockFolder } from "./files/lock.ts";
import { Journal } from "./journal/journal.ts";
import { defaultSeriesMax, keyAgeMs, unsealedBytesStop } from "./limits.ts";
import { EncoderThreads } from "./maintenance/encoder-threads.ts";
import { MaintenanceScheduler } from "./maintenance/maintenance-scheduler.ts";
import type { MaintenanceTask } from "./maintenance/maintenance-task.ts";
import { recoverPartitions } from "./maintenance/recovery.ts";
import { ActiveSeriesCounter, type CensusTables, SeriesCensus } from "./metrics/series-census.ts";
import type { DamageReport } from "./model/damage-report.ts";
import type { LogRow, RefusedRow } from "./model/row.ts";
import type { Sample } from "./model/sample.ts";
import type { RowSignal, Signal } from "./model/signal.ts";
import { Catalog } from "./partition/catalog.ts";
import { countStored, type StoreStats } from "./partition/store-stats.ts";
import type { Aggregated, AggregateQuery } from "./plan/aggregation.ts";
import type { QueryControl } from "./plan/query-control.ts";
import type {
  ArrivedQuery,
  FieldCounts,
  FieldsQuery,
  RowQuery,
  ScanQuery,
  SearchResult,
} from "./plan/row-query.ts";
import type {
  MetricName,
  SampleQuery,
  SamplesAggregated,
  SeriesCount,
  SeriesLabelsQuery,
} from "./plan/sample-query.ts";
import { queryAggregate } from "./scatter/aggregate-query.ts";
import { type Arrived, queryArrivals } from "./scatter/arrival-query.ts";
import type { RecordBatch } from "./scatter/arrow.ts";
import { readChunks } from "./scatter/chunk-read-query.ts";
import { queryFieldCounts } from "./scatter/field-count-query.ts";
import { queryNewestRows } from "./scatter/row-query.ts";
import {
  countStoredSeries,
  queryMetricNames,
  querySamples,
  querySeriesLabels,
} from "./scatter/sample-query.ts";
import { type QueryLimits, type ScatterContext, startControl } from "./scatter/scatter-gather.ts";
import type { StoredState } from "./state/state.ts";
import {
  type AppendOptions,
  type AppendResult,
  cacheShares,
  type StoreEvent,
  type StoreOptions,
} from "./store-options.ts";
import { WorkerThread } from "./threads/worker-thread.ts";
import { ScanExecutor, type ScanThreadTask } from "./worker/scan-executor.ts";

/** Damage reports kept for `stats`; all of them are logged. */
const damageMax = 1_000;
/** How long an append waits for room before it is refused. */
const roomWaitMs = 10_000;

/** Opens the store in a folder, creating it. Throws Failure "folder". */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dir } = options;
  await checkFormat(dir, { create: true });
  const unlock = await lockFolder(dir);
  try {
    return await Store.open(options, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

export class Store {
  readonly #options: StoreOptions;
  readonly #unlock: () => Promise<void>;
  readonly #catalog: Catalog;
  readonly #scanThreads: WorkerThread<ScanThreadTask>[];
  readonly #queryThread: ScanExecutor;
  /** It decodes columns on its own heap. */
  readonly #maintenanceThread = new WorkerThread<MaintenanceTask>({ concurrent: false, columnCacheBytes: 0 });
  readonly #encoders = new EncoderThreads(this.#maintenanceThread);
  readonly #damage: DamageReport[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #pendingKeys = new Map<string, Promise<AppendResult>>();
  readonly #arrivalListeners = new Set<() => void>();
  readonly #census: ActiveSeriesCounter;
  #journal!: Journal;
  #maintenance!: MaintenanceScheduler;
  /** The last one, closed or not. */
  #backup: Backup | undefined;
  #isClosed = false;

  private constructor(options: StoreOptions, unlock: () => Promise<void>) {
    this.#options = options;
    this.#unlock = unlock;
    this.#catalog = new Catalog(options.dir);
    this.#census = new ActiveSeriesCounter(options.seriesMax ?? defaultSeriesMax, this.#now());
    const threads = options.threads ?? availableParallelism();
    const { thread: columnCacheBytes, caller } = cacheShares(options.columnCacheBytes, threads);
    this.#queryThread = new ScanExecutor({ bytesMax: caller, keepsRecent: true });
    this.#scanThreads = Array.from(
      { length: threads },
      () => new WorkerThread<ScanThreadTask>({ concurrent: true, columnCacheBytes }),
    );
  }

  static async open(options: StoreOptions, unlock: () => Promise<void>): Promise<Store> {
    const store = new Store(options, unlock);
    try {
      await store.#recover();
    } catch (error) {
      await store.#closeThreads();
      throw error;
    }
    return store;
  }

  /** Encodes rows on this thread and appends them; resolves once they are on disk and found by searches. */
  async append(
    signal: RowSignal,
    rows: readonly LogRow[],
    options: AppendOptions = {},
  ): Promise<AppendResult & { refused: RefusedRow[] }> {
    const { refused, ...batch } = encodeBatch(signal, rows, { nowMs: this.#now() });
    return { ...(await this.appendEncoded(batch, options)), refused };
  }

  /** Resolves once the batch is on disk and found by searches. Throws Failure "input", "overload", "disk-full". */
  async appendEncoded(batch: EncodedBatch, options: AppendOptions = {}): Promise<AppendResult> {
    this.#assertOpen();
    if (options.key === undefined) return this.#appendBatch(batch, undefined, 0);
    const keyHash = createHash("sha256").update(options.key).digest("hex");
    const pending = this.#pendingKeys.get(keyHash);
    if (pending !== undefined) return { ...(await pending), duplicate: true };
    const taken = this.#journal.keys.find(keyHash, this.#now());
    if (taken !== undefined) return { rows: taken.rows, duplicate: true };
    const appended = this.#appendBatch(batch, keyHash, this.#now() + (options.keyAgeMs ?? keyAgeMs));
    this.#pendingKeys.set(keyHash, appended);
    try {
      return await appended;
    } finally {
      this.#pendingKeys.delete(keyHash);
    }
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  search(query: RowQuery, limits: QueryLimits = {}): Promise<SearchResult> {
    return this.#ask(limits, (dispatch, control) => queryNewestRows(dispatch, query, control));
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  aggregate(query: AggregateQuery, limits: QueryLimits = {}): Promise<Aggregated> {
    return this.#ask(limits, (dispatch, control) => queryAggregate(dispatch, query, control));
  }

  /** Rows in the order of their arrival, of several selections. Throws Failure "input", "deadline", "cancelled", "limit". */
  arrived(query: ArrivedQuery, limits: QueryLimits = {}): Promise<Arrived[]> {
    return this.#ask(limits, (dispatch, control) => queryArrivals(dispatch, query, control));
  }

  /** Arrival number of the newest row that is on disk and found by searches, of whatever signal. */
  get arrivalMax(): number {
    return this.#journal.arrivalMax;
  }

  /**
   * Time, in Unix milliseconds, of the oldest of a signal's rows that arrived behind an arrival number; undefined where none did. Rarely
   * it is too small. Known of rows that arrived since the store was opened.
   */
  oldestArrivedMs(signal: Signal, arrival: number): number | undefined {
    return this.#catalog.oldestMs(signal, arrival);
  }

  /** Calls `listener` each time that rows have arrived, until the function that it gives is called. */
  onArrival(listener: () => void): () => void {
    this.#arrivalListeners.add(listener);
    return () => void this.#arrivalListeners.delete(listener);
  }

  /** How many of the matching rows bear each field. Throws Failure "input", "deadline", "cancelled", "limit". */
  countFields(query: FieldsQuery, limits: QueryLimits = {}): Promise<FieldCounts> {
    return this.#ask(limits, (dispatch, control) => queryFieldCounts(dispatch, query, control));
  }

  /**
   * Matching rows as Arrow record batches: timestamp (ns), log_level, message, attributes (map of text to text). Each
   * batch is in order of time; batches come in the order of the chunks they were read from, oldest first.
   */
  async *scan(query: ScanQuery, limits: QueryLimits = {}): AsyncGenerator<RecordBatch, void, undefined> {
    this.#assertOpen();
    const { control, end } = startControl(limits);
    let finish!: () => void;
    void this.#track(new Promise<void>((resolve) => (finish = resolve)));
    try {
      yield* readChunks(this.#dispatch(), query, control);
    } finally {
      end();
      finish();
    }
  }

  /** Encodes samples on this thread and appends them; resolves once they are on disk and found by queries. */
  async appendSamples(
    samples: readonly Sample[],
    options: AppendOptions = {},
  ): Promise<AppendResult & { refused: RefusedRow[] }> {
    const census = new SeriesCensus(this.seriesCensus());
    const { refused, ...batch } = encodeSampleBatch(samples, { nowMs: this.#now(), census });
    return { ...(await this.appendEncoded(batch, options)), refused };
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  aggregateSamples(query: SampleQuery, limits: QueryLimits = {}): Promise<SamplesAggregated> {
    return this.#ask(limits, (dispatch, control) => querySamples(dispatch, query, control));
  }

  /** Metrics that have samples in a range: a name stands more than once where its series differ in type or unit. */
  metricNames(fromNs: bigint, toNs: bigint, limits: QueryLimits = {}): Promise<MetricName[]> {
    return this.#ask(limits, (dispatch, control) => queryMetricNames(dispatch, { fromNs, toNs }, control));
  }

  /** Keys of labels, or the texts of one, with the series that bear them. Throws as `aggregateSamples`. */
  seriesLabels(query: SeriesLabelsQuery, limits: QueryLimits = {}): Promise<SeriesCount[]> {
    return this.#ask(limits, (dispatch, control) => querySeriesLabels(dispatch, query, control));
  }

  /** The count of active series, for whoever encodes samples: `new SeriesCensus(tables)` on any thread. */
  seriesCensus(): CensusTables {
    return this.#census.tables(this.#now());
  }

  /** Keys that rows of the days in a range bear; `isWhole` is false where there are more of them than the store lists. */
  attributeKeys(signal: RowSignal, fromNs: bigint, toNs: bigint): ListedKeys {
    return this.#catalog.attributeKeys(signal, fromNs, toNs);
  }

  stats(): StoreStats {
    return {
      ...countStored(this.#catalog),
      unsealedBytes: this.#maintenance.unsealedBytes,
      journalBytes: this.#journal.bytes,
      damage: [...this.#damage],
      refusing: this.#journal.refusing ?? (this.#isFull() ? this.#maintenance.failure?.message : undefined),
    };
  }

  /** Seals all rows that are in memory into chunks. Throws Failure "disk-full". */
  seal(): Promise<void> {
    this.#assertOpen();
    return this.#maintenance.sealAll();
  }

  /**
   * A backup of this moment, of the store and of the state beside it: all that was acknowledged before the call is in it. Throws
   * Failure "overload" while another one is open.
   */
  async openBackup(state: StoredState): Promise<Backup> {
    this.#assertOpen();
    const [catalog, journal, upkeep] = [this.#catalog, this.#journal, this.#maintenance];
    this.#backup = await openBackup({ catalog, journal, upkeep, state, now: () => this.#now() });
    return this.#backup;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#backup?.close();
    await this.#maintenance.close();
    await this.#queriesEnded();
    try {
      await this.#journal.close();
    } finally {
      await this.#closeThreads();
      await this.#unlock();
    }
  }

  async #recover(): Promise<void> {
    const { dir } = this.#options;
    const reportDamage = (where: string, problem: string) => this.#reportDamage(where, problem);
    const arrivalMax = await recoverPartitions(dir, this.#catalog, this.#maintenanceThread, reportDamage);
    this.#journal = await Journal.open(
      {
        dir: join(dir, "journal"),
        publish: (record) => this.#catalog.publish(record),
        reportDamage,
        now: () => this.#now(),
      },
      { seqMin: 1, arrivalMin: arrivalMax + 1 },
    );
    await countStoredSeries(this.#dispatch(), this.seriesCensus());
    this.#maintenance = this.#startMaintenance();
    this.#maintenance.nudge();
  }

  #startMaintenance(): MaintenanceScheduler {
    const { retentionAgeMs, retentionBytes } = this.#options;
    return new MaintenanceScheduler({
      catalog: this.#catalog,
      journal: this.#journal,
      worker: this.#maintenanceThread,
      encoders: this.#encoders,
      retention: { ageMs: retentionAgeMs, bytes: retentionBytes },
      queriesEnded: () => this.#queriesEnded(),
      forget: async (dir) => {
        this.#queryThread.forget(dir);
        await Promise.all(this.#scanThreads.map((shard) => shard.run<void>({ kind: "forget", dir })));
      },
      quarantine: (chunk) => this.#quarantine(chunk),
      reportDamage: (where, problem) => this.#reportDamage(where, problem),
      log: (level, message) => this.#log(level, message),
      now: () => this.#now(),
    });
  }

  async #appendBatch(
    batch: EncodedBatch,
    keyHash: string | undefined,
    keyUntilMs: number,
  ): Promise<AppendResult> {
    if (batch.rows === 0 && keyHash === undefined) return { rows: 0, duplicate: false };
    await this.#room();
    const { signal, bytes: frame, rows } = batch;
    const record = await this.#journal.append({ signal, frame, rows, keyHash, keyUntilMs });
    this.#maintenance.nudge();
    for (const listener of this.#arrivalListeners) listener();
    return { rows: record.rows, duplicate: false };
  }

  /** Waits while more rows are in memory than may be; memory stays flat when rows come faster than they are sealed. */
  async #room(): Promise<void> {
    const waitUntil = this.#now() + roomWaitMs;
    while (this.#isFull()) {
      if (this.#maintenance.failure?.kind === "disk-full") throw this.#maintenance.failure;
      if (this.#now() > waitUntil)
        throw new Failure("overload", "rows come faster than they can be stored; try again shortly");
      await this.#maintenance.progress();
    }
  }

  #isFull(): boolean {
    return this.#maintenance.unsealedBytes > unsealedBytesStop;
  }

  #ask<T>(
    limits: QueryLimits,
    run: (dispatch: ScatterContext, control: QueryControl) => Promise<T>,
  ): Promise<T> {
    this.#assertOpen();
    const { control, end } = startControl(limits);
    return this.#track(run(this.#dispatch(), control).finally(end));
  }

  #dispatch(): ScatterContext {
    const quarantine = (chunk: DamagedChunk) => this.#quarantine(chunk);
    const runInBackground = (work: Promise<void>) => {
      work.catch((error) => this.#log("error", `templates: ${error.message}`));
    };
    return {
      catalog: this.#catalog,
      threads: this.#scanThreads,
      queryThread: this.#queryThread,
      quarantine,
      runInBackground,
    };
  }

  #quarantine(chunk: DamagedChunk): void {
    const entry = this.#catalog.quarantine(chunk.signal, chunk.day, chunk.chunk);
    if (entry !== undefined)
      this.#reportDamage(chunk.where, `${chunk.problem}; its ${entry.rows} rows are set aside`);
  }

  #reportDamage(where: string, problem: string): void {
    const report = { where: where.startsWith("/") ? relative(this.#options.dir, where) : where, problem };
    if (this.#damage.length < damageMax) this.#damage.push(report);
    this.#log("error", `damage: ${report.where}: ${problem}`);
  }

  /** Keeps a query on the list of those that a sweep must wait for. */
  #track<T>(query: Promise<T>): Promise<T> {
    this.#running.add(query);
    const forget = () => void this.#running.delete(query);
    query.then(forget, forget);
    return query;
  }

  /** Queries that run now have ended, and what they left in the background. */
  async #queriesEnded(): Promise<void> {
    await Promise.allSettled([...this.#running]);
    await this.#queryThread.endLearning();
  }

  async #closeThreads(): Promise<void> {
    this.#queryThread.readers.close();
    await Promise.all(
      [...this.#scanThreads, this.#maintenanceThread, this.#encoders].map((shard) => shard.close()),
    );
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Failure("folder", "the store is closed");
  }

  #log(level: StoreEvent["level"], message: string): void {
    this.#options.log?.({ level, message });
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }
}
