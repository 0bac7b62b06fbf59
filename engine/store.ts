/** The store: takes batches of rows and samples, answers queries, and runs maintenance in the background. */

import { join } from "node:path";
import { type Backup, openBackup } from "./backup/backup.ts";
import type { EncodedBatch } from "./batch/batch.ts";
import { encodeBatch } from "./batch/batch-builder.ts";
import { encodeSampleBatch } from "./batch/sample-batch-builder.ts";
import type { ListedKeys } from "./chunk/chunk-header.ts";
import type { DamagedChunk } from "./chunk/chunk-ref.ts";
import { Failure } from "./failure.ts";
import { type FolderLock, lockFolder } from "./files/folder-lock.ts";
import { checkFormat } from "./files/format-version.ts";
import { Journal } from "./journal/journal.ts";
import { recordLength } from "./journal/journal-record.ts";
import { KeyedAppends, type StoredKey, startSteadyClock } from "./journal/keyed-appends.ts";
import { defaultSeriesMax } from "./limits.ts";
import { MaintenanceScheduler } from "./maintenance/maintenance-scheduler.ts";
import { recoverPartitions } from "./maintenance/recovery.ts";
import { divideMemory, type MemoryBudget } from "./memory-budget.ts";
import { ActiveSeries, ActiveSeriesCounter, type ActiveSeriesTables } from "./metrics/active-series.ts";
import type { LogRow, RefusedRow } from "./model/row.ts";
import type { Sample } from "./model/sample.ts";
import type { RowSignal, Signal } from "./model/signal.ts";
import { Catalog } from "./partition/catalog.ts";
import { DamageLog } from "./partition/damage-log.ts";
import { countStored, type StoreStats } from "./partition/store-stats.ts";
import { addWritten } from "./partition/write-counts.ts";
import type { AggregateQuery, AggregateResult, CountedTemplates, TemplateQuery } from "./plan/aggregation.ts";
import { makeQueryMemory, type QueryMemory } from "./plan/query-memory.ts";
import type {
  ArrivalQuery,
  FieldCounts,
  FieldsQuery,
  RowColumns,
  RowColumnsQuery,
  RowQuery,
  ScanQuery,
  SearchResult,
  ValueCounts,
  ValuesQuery,
} from "./plan/row-query.ts";
import type {
  MetricName,
  SampleAggregateResult,
  SampleQuery,
  SeriesCount,
  SeriesLabelsQuery,
} from "./plan/sample-query.ts";
import { queryAggregate } from "./scatter/aggregate-query.ts";
import { type Arrived, queryArrivals } from "./scatter/arrival-query.ts";
import type { RecordBatch } from "./scatter/arrow-batch.ts";
import { readChunks } from "./scatter/chunk-read-query.ts";
import { queryFieldCounts } from "./scatter/field-count-query.ts";
import { queryFirstRows } from "./scatter/first-rows-query.ts";
import {
  countStoredSeries,
  queryMetricNames,
  querySamples,
  querySeriesLabels,
} from "./scatter/metric-query.ts";
import { queryRowColumns } from "./scatter/row-columns-query.ts";
import { RunningQueries } from "./scatter/running-queries.ts";
import type { QueryContext, QueryLimits, ScatterContext } from "./scatter/scatter-gather.ts";
import { startControl } from "./scatter/scatter-gather.ts";
import { queryTemplates } from "./scatter/template-query.ts";
import { queryValueCounts } from "./scatter/value-count-query.ts";
import { WarmUp } from "./scatter/warm-up.ts";
import type { StoredState } from "./state/state.ts";
import type { AppendOptions, AppendResult, StoreEvent, StoreOptions } from "./store-options.ts";
import { StoreThreads } from "./store-threads.ts";
import { ScanExecutor } from "./worker/scan-executor.ts";

/** An open store. Methods of a closed one throw Failure "folder". */
export class Store {
  readonly #options: StoreOptions;
  /** Unix milliseconds by the wall clock, which may be set at any time. */
  readonly #now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly #elapsed: () => number;
  readonly #lock: FolderLock;
  readonly #catalog: Catalog;
  readonly #memory: MemoryBudget;
  readonly #threads: StoreThreads;
  readonly #queryMemory: QueryMemory;
  readonly #queryThread: ScanExecutor;
  readonly #damage: DamageLog;
  readonly #running = new RunningQueries();
  readonly #arrivalListeners = new Set<() => void>();
  readonly #activeSeries: ActiveSeriesCounter;
  #journal!: Journal;
  #keyedAppends!: KeyedAppends;
  #maintenance!: MaintenanceScheduler;
  /** The last backup, open or closed. */
  #backup: Backup | undefined;
  #isClosed = false;

  private constructor(options: StoreOptions, lock: FolderLock) {
    this.#options = options;
    this.#now = options.now ?? (() => Date.now());
    this.#elapsed = options.elapsed ?? (() => performance.now());
    this.#lock = lock;
    this.#catalog = new Catalog(options.dir);
    this.#damage = new DamageLog(options.dir, (message) => this.#log("error", message));
    this.#activeSeries = new ActiveSeriesCounter(options.seriesMax ?? defaultSeriesMax, this.#now());
    const { memory, threads: scanThreads, columnCacheBytes } = options;
    this.#memory = memory ?? divideMemory({ use: "library", scanThreads, columnCacheBytes });
    this.#queryThread = new ScanExecutor({ bytesMax: this.#memory.queryThreadCacheBytes, keepsRecent: true });
    this.#threads = new StoreThreads(this.#memory);
    this.#queryMemory = makeQueryMemory(this.#memory.queryStateBytes);
  }

  /** Opens the store in a folder, creating it. Throws Failure "folder". */
  static async open(options: StoreOptions): Promise<Store> {
    await checkFormat(options.dir, { create: true });
    const store = new Store(options, await lockFolder(options.dir));
    try {
      await store.#recover();
    } catch (error) {
      await store.#closeThreads();
      await store.#lock.release();
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
    return this.#keyedAppends.append(options, batch.keys, (stored) => this.#appendBatch(batch, stored));
  }

  /** The rows that batches or pieces with these hashed keys added; undefined for each key that is new. */
  findKeyRows(hashes: readonly string[]): (number | undefined)[] {
    return this.#keyedAppends.findRows(hashes);
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  search(query: RowQuery, limits: QueryLimits = {}): Promise<SearchResult> {
    return this.#ask(limits, (context) => queryFirstRows(context, query));
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  aggregate(query: AggregateQuery, limits: QueryLimits = {}): Promise<AggregateResult> {
    return this.#ask(limits, (context) => queryAggregate(context, query));
  }

  /** Counts rows by the template of their message. Throws Failure "input", "deadline", "cancelled", "limit". */
  countTemplates(query: TemplateQuery, limits: QueryLimits = {}): Promise<CountedTemplates> {
    return this.#ask(limits, (context) => queryTemplates(context, query));
  }

  /** Finds the rows of several selections by arrival. Throws Failure "input", "deadline", "cancelled", "limit". */
  arrived(query: ArrivalQuery, limits: QueryLimits = {}): Promise<Arrived[]> {
    return this.#ask(limits, (context) => queryArrivals(context, query));
  }

  /** Arrival number of the newest row of any signal that is on disk and found by searches. */
  get arrivalMax(): number {
    return this.#journal.arrivalMax;
  }

  /**
   * Time of the oldest row of a signal that arrived after an arrival number, in Unix milliseconds; undefined where none
   * did. Covers rows that arrived since the store was opened. In rare cases the time is too small.
   */
  oldestArrivedMs(signal: Signal, arrival: number): number | undefined {
    return this.#catalog.oldestMs(signal, arrival);
  }

  /** Calls `listener` each time that rows have arrived. Returns a function that ends this. */
  onArrival(listener: () => void): () => void {
    this.#arrivalListeners.add(listener);
    return () => void this.#arrivalListeners.delete(listener);
  }

  /** Counts the matching rows that have each field. Throws Failure "input", "deadline", "cancelled", "limit". */
  countFields(query: FieldsQuery, limits: QueryLimits = {}): Promise<FieldCounts> {
    return this.#ask(limits, (context) => queryFieldCounts(context, query));
  }

  /** Fields of the matching rows as columns. Throws as `countFields`. */
  readColumns(query: RowColumnsQuery, limits: QueryLimits = {}): Promise<RowColumns> {
    return this.#ask(limits, (context) => queryRowColumns(context, query));
  }

  /** Counts the matching rows that have each value of each field. Throws as `countFields`. */
  countValues(query: ValuesQuery, limits: QueryLimits = {}): Promise<ValueCounts> {
    return this.#ask(limits, (context) => queryValueCounts(context, query));
  }

  /**
   * Matching rows as Arrow record batches: timestamp (ns), log_level, message, attributes (map of text to text). Rows
   * are in order of time within a batch; each batch is one chunk, oldest chunk first.
   */
  async *scan(query: ScanQuery, limits: QueryLimits = {}): AsyncGenerator<RecordBatch, void, undefined> {
    this.#assertOpen();
    const { control, end } = startControl(limits, this.#queryMemory);
    const finish = this.#running.beginScan(control.deadlineAtMs);
    try {
      yield* readChunks({ ...this.#scatterContext(), control }, query);
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
    const census = new ActiveSeries(this.seriesCensus());
    const { refused, ...batch } = encodeSampleBatch(samples, { nowMs: this.#now(), census });
    return { ...(await this.appendEncoded(batch, options)), refused };
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  aggregateSamples(query: SampleQuery, limits: QueryLimits = {}): Promise<SampleAggregateResult> {
    return this.#ask(limits, (context) => querySamples(context, query));
  }

  /** Metrics that have samples in a range. A name is listed more than once where its series differ in type or unit. */
  metricNames(fromNs: bigint, toNs: bigint, limits: QueryLimits = {}): Promise<MetricName[]> {
    return this.#ask(limits, (context) => queryMetricNames(context, { fromNs, toNs }));
  }

  /** Label keys, or the values of one label, with the number of series of each. Throws as `aggregateSamples`. */
  seriesLabels(query: SeriesLabelsQuery, limits: QueryLimits = {}): Promise<SeriesCount[]> {
    return this.#ask(limits, (context) => querySeriesLabels(context, query));
  }

  /** Begins a warm-up; its rounds must be ended. */
  beginWarmUp(): WarmUp {
    return new WarmUp(this.#scatterContext());
  }

  /** Shared tables that count active series. A thread that encodes samples wraps them in `ActiveSeries`. */
  seriesCensus(): ActiveSeriesTables {
    return this.#activeSeries.tables(this.#now());
  }

  /** Attribute keys of the days in a range; `isWhole` is false where there are more than the store lists. */
  attributeKeys(signal: RowSignal, fromNs: bigint, toNs: bigint): ListedKeys {
    return this.#catalog.attributeKeys(signal, fromNs, toNs);
  }

  /** Throws Failure "folder" where the data folder was removed, replaced or opened by another process. */
  checkFolder(): void {
    this.#lock.check();
  }

  stats(): StoreStats {
    return {
      ...countStored(this.#catalog),
      unsealedBytes: this.#catalog.unsealedBytes,
      journalBytes: this.#journal.bytes,
      damage: this.#damage.reports,
      retentionHeldDays: this.#maintenance.retentionHeldDays.length,
      refusing:
        this.#lock.problem ??
        this.#journal.recentFailure ??
        (this.#maintenance.isFull ? this.#maintenance.failure?.message : undefined),
    };
  }

  /** Seals all rows that are in memory into chunks. Throws Failure "disk-full". */
  seal(): Promise<void> {
    this.#assertOpen();
    return this.#maintenance.sealAll();
  }

  /**
   * A backup of this moment, of the store and of the state beside it: all that was acknowledged before the call is in
   * it. Throws Failure "overload" while another one is open.
   */
  async openBackup(state: StoredState): Promise<Backup> {
    this.#assertOpen();
    const [catalog, journal, maintenance] = [this.#catalog, this.#journal, this.#maintenance];
    this.#backup = await openBackup({ catalog, journal, maintenance, state, now: this.#now });
    return this.#backup;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#backup?.close();
    this.#running.endScans();
    await this.#maintenance.close();
    await this.#queriesEnded();
    try {
      await this.#journal.close();
    } finally {
      await this.#closeThreads();
      await this.#lock.release();
    }
  }

  async #recover(): Promise<void> {
    const { dir } = this.#options;
    const reportDamage = this.#damage.report;
    const arrivalMax = await recoverPartitions(dir, this.#catalog, this.#threads.maintenance, reportDamage);
    const keyClock = startSteadyClock(this.#now, this.#elapsed);
    this.#journal = await Journal.open(
      {
        dir: join(dir, "journal"),
        publish: (record) => this.#catalog.publish(record),
        queueBytesMax: this.#memory.journalQueueBytes,
        ...{ reportDamage, keyClock, lock: this.#lock, now: this.#now, elapsed: this.#elapsed },
      },
      { seqMin: 1, arrivalMin: arrivalMax + 1 },
    );
    this.#keyedAppends = new KeyedAppends(this.#journal.keys, keyClock);
    await countStoredSeries(this.#scatterContext(), this.seriesCensus());
    this.#maintenance = this.#startMaintenance();
    this.#maintenance.nudge();
  }

  #startMaintenance(): MaintenanceScheduler {
    const { retentionAgeMs, retentionBytes, retentionBeforeMs, mergesLater = false } = this.#options;
    const { chunkCaps, unsealedBytesMax, unsealedBytesStop } = this.#memory;
    return new MaintenanceScheduler({
      catalog: this.#catalog,
      journal: this.#journal,
      ...{ worker: this.#threads.maintenance, encoders: this.#threads.encoders },
      ...{ chunkCaps, unsealedBytesMax, unsealedBytesStop, mergesLater },
      retention: { ageMs: retentionAgeMs, bytes: retentionBytes, removeBeforeMs: retentionBeforeMs },
      queriesEnded: () => this.#queriesEnded(),
      closeChunks: async (dir, chunks) => {
        this.#queryThread.forget(dir, chunks);
        await Promise.all(this.#threads.scan.map((each) => each.run<void>({ kind: "forget", dir, chunks })));
      },
      quarantine: (chunk) => this.#quarantine(chunk),
      log: (level, message) => this.#log(level, message),
      ...{ reportDamage: this.#damage.report, lock: this.#lock, now: this.#now, elapsed: this.#elapsed },
    });
  }

  async #appendBatch({ signal, bytes: frame, rows, starts }: EncodedBatch, key: StoredKey) {
    if (rows === 0 && key.keyUntilMs === 0) return { rows: 0 };
    await this.#maintenance.waitForRoom();
    const record = await this.#journal.append({ signal, frame, rows, keyHash: undefined, ...key });
    addWritten(this.#catalog.written, "journal", [{ rows, bytes: recordLength(record.frameBytes) }]);
    if (starts !== undefined) this.#activeSeries.noteStarts(starts);
    this.#maintenance.nudge();
    for (const listener of this.#arrivalListeners) listener();
    return { rows: record.rows };
  }

  #ask<T>(limits: QueryLimits, run: (context: QueryContext) => Promise<T>): Promise<T> {
    this.#assertOpen();
    const { control, end } = startControl(limits, this.#queryMemory);
    return this.#running.track(run({ ...this.#scatterContext(), control }).finally(end));
  }

  #scatterContext(): ScatterContext {
    return {
      ...{ catalog: this.#catalog, threads: this.#threads.scan, queryThread: this.#queryThread },
      quarantine: (chunk) => this.#quarantine(chunk),
      queryMemory: this.#queryMemory,
      runInBackground: (work) => {
        work.catch((error) => this.#log("error", `learning for later queries: ${error.message}`));
      },
    };
  }

  #quarantine(chunk: DamagedChunk): void {
    const entry = this.#catalog.quarantine(chunk.signal, chunk.day, chunk.chunk);
    if (entry !== undefined)
      this.#damage.report(chunk.where, `${chunk.problem}; its ${entry.rows} rows are quarantined`);
  }

  /** Resolves when the queries that run now have ended, and what they had the query thread learn. */
  async #queriesEnded(): Promise<void> {
    await this.#running.ended();
    await this.#queryThread.endLearning();
  }

  async #closeThreads(): Promise<void> {
    this.#queryThread.readers.close();
    await this.#threads.close();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Failure("folder", "the store is closed");
  }

  #log(level: StoreEvent["level"], message: string): void {
    this.#options.log?.({ level, message });
  }
}
