/** The engine's public face. */

export type { Aggregated, AggregateQuery, Aggregation, Points, Value } from "./aggregation.ts";
export type { BackupFile } from "./backup.ts";
export { type BackupMarker, type CopyProgress, writeBackup } from "./backupfolder.ts";
export type { EncodedBatch } from "./batch.ts";
export { BatchDraft, encodeBatch, RowRanges } from "./batchdraft.ts";
export type { DamageReport } from "./damage.ts";
export type { QueryLimits } from "./dispatch.ts";
export type { Arrived, ArrivedQuery } from "./dispatcharrived.ts";
export type { FieldCounts, FieldsQuery } from "./dispatchfields.ts";
export type { RowQuery, SearchResult } from "./dispatchsearch.ts";
export type { EntryTally, EntryTerms } from "./entry.ts";
export type { Exclusion, TextField, TextTest } from "./exclusion.ts";
export { Failure, type FailureKind } from "./failure.ts";
export type { CompareOp, Extractor, Field, Filter, PatternPart, Step } from "./filter.ts";
export { type ColumnInventory, type SignalInventory, storeInventory } from "./inventory.ts";
export { isOpenElsewhere } from "./lock.ts";
export { type CensusTables, SeriesCensus } from "./metrics/census.ts";
export type { MetricName, SeriesCount, SeriesLabelsQuery } from "./metrics/dispatch.ts";
export type { MetricType, Sample } from "./metrics/sample.ts";
export { encodeSampleBatch, SampleDraft, SeriesRanges } from "./metrics/sampledraft.ts";
export type {
  SampleAggregate,
  SampleQuery,
  SamplesAggregated,
  SeriesKinds,
} from "./metrics/samplequery.ts";
export { forgetRestored, RestoreDamage, restoreBackup, restoredFrom } from "./restore.ts";
export type { FoundRow, LogRow, RefusedRow, RowPosition } from "./row.ts";
export { RowList } from "./rowlist.ts";
export { addScanned, nothingScanned, type Scanned } from "./scanned.ts";
export { type RowSignal, type Signal, signals } from "./signal.ts";
export { type Json, openState, type State, type StateChange, type StoredState } from "./state.ts";
export { openStore, Store } from "./store.ts";
export type {
  AppendOptions,
  AppendResult,
  ScanQuery,
  StoreEvent,
  StoreOptions,
} from "./storeoptions.ts";
export type { SignalStats, StoreStats } from "./storestats.ts";
export { templateIdOf, templateTextOf } from "./template/id.ts";
export { type TextVector, textAt } from "./text.ts";
export { type VerifyProgress, type VerifyReport, verifyStore } from "./verify.ts";
