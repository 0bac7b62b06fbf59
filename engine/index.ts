/** The engine's public face. */
export type { BackupFile } from "./backup/backup.ts";
export type { BackupMarker, CopyProgress } from "./backup/backup-folder.ts";
export { RestoreDamage } from "./backup/restore-damage.ts";
export type { AdmissionCounts, AdmissionPolicy } from "./batch/admission-policy.ts";
export type { EncodedBatch } from "./batch/batch.ts";
export { BatchBuilder, encodeBatch } from "./batch/batch-builder.ts";
export type { BatchColumns } from "./batch/batch-columns.ts";
export type { DocumentStop, RowStop } from "./batch/batch-kernels.ts";
export type { DocumentForm, DocumentNames, DocumentRows } from "./batch/document-rows.ts";
export { type Exclusion, ExclusionFilter, type TextField, type TextTest } from "./batch/exclusion.ts";
export type { JsonRows } from "./batch/json-rows.ts";
export type { OtlpRecords } from "./batch/otlp-records.ts";
export { PlainColumns } from "./batch/plain-columns.ts";
export { RowRanges } from "./batch/row-ranges.ts";
export { encodeSampleBatch, SampleBatchBuilder } from "./batch/sample-batch-builder.ts";
export type { SeriesAliases } from "./batch/series-aliases.ts";
export { SeriesMemory } from "./batch/series-memory.ts";
export { SeriesRanges } from "./batch/series-ranges.ts";
export type { ChunkCaps } from "./chunk/chunk-caps.ts";
export { Failure, type FailureKind } from "./failure.ts";
export { isOpenElsewhere } from "./files/folder-lock.ts";
export type { PieceKey } from "./files/piece-keys.ts";
export { compileRowTest } from "./filter/predicate.ts";
export type { ColumnInventory, SignalInventory } from "./inspect/inventory.ts";
export type { VerifyProgress, VerifyReport } from "./inspect/verify.ts";
export { hashKey } from "./journal/keyed-appends.ts";
export { isTrap } from "./kernels/webassembly.ts";
export { metricNameBytesMax, timerMsMax, unitBytesMax } from "./limits.ts";
export {
  describeMemory,
  divideMemory,
  type MemoryBudget,
  type MemoryPart,
  memoryBytesMin,
} from "./memory-budget.ts";
export { ActiveSeries, type ActiveSeriesTables } from "./metrics/active-series.ts";
export type { DamageReport } from "./model/damage-report.ts";
export type { FoundRow, LogRow, RefusedRow, RowPosition } from "./model/row.ts";
export { isCounterName, type MetricType, type Sample } from "./model/sample.ts";
export { isSeverityRange, severityRangeOf, severityRanges } from "./model/severity.ts";
export { type RowSignal, type Signal, signals } from "./model/signal.ts";
export {
  openState,
  openStore,
  readInventory,
  readRestoredMark,
  removeRestoredMark,
  restoreBackup,
  verifyStore,
  writeBackup,
} from "./opening.ts";
export type { SignalCounts } from "./partition/catalog.ts";
export type { StoreStats } from "./partition/store-stats.ts";
export { writeReasons } from "./partition/write-counts.ts";
export type {
  AggregateQuery,
  AggregateResult,
  Aggregation,
  CountedTemplate,
  CountedTemplates,
  Points,
  TemplateQuery,
  Value,
} from "./plan/aggregation.ts";
export type {
  AttachedAttribute,
  CompareOp,
  Extractor,
  Field,
  Filter,
  FormatPart,
  PatternPart,
  RowFormat,
  Step,
  TextChange,
} from "./plan/filter.ts";
export type {
  ArrivalQuery,
  ColumnData,
  ColumnRead,
  FieldCounts,
  FieldsQuery,
  FieldValueCounts,
  RowColumns,
  RowColumnsQuery,
  RowOrder,
  RowQuery,
  ScanQuery,
  SearchResult,
  ValueCounts,
  ValuesQuery,
} from "./plan/row-query.ts";
export type {
  MetricName,
  SampleAggregate,
  SampleAggregateResult,
  SampleQuery,
  SampleStatistic,
  SampleStatistics,
  SeriesCount,
  SeriesKinds,
  SeriesLabelsQuery,
} from "./plan/sample-query.ts";
export {
  addScanStatistics,
  type ConditionStatistics,
  emptyScanStatistics,
  type ScanStatistics,
} from "./plan/scan-statistics.ts";
export type { Arrived } from "./scatter/arrival-query.ts";
export { RowList } from "./scatter/row-list.ts";
export type { QueryLimits } from "./scatter/scatter-gather.ts";
export type { WarmUpRange } from "./scatter/warm-up.ts";
export type { State, StateChange, StoredState } from "./state/state.ts";
export type { Json } from "./state/state-record.ts";
export type { Store } from "./store.ts";
export type {
  AppendOptions,
  AppendResult,
  StoreEvent,
  StoreOptions,
} from "./store-options.ts";
export { templateIdOf, templateTextOf } from "./template/template-id.ts";
export { SharedGarbage } from "./threads/shared-garbage.ts";
export { findOwnThread, ThreadClock } from "./threads/thread-clock.ts";
export { Turns } from "./threads/turns.ts";
export { growArray } from "./vector/arrays.ts";
export { lowerBound } from "./vector/binary-search.ts";
export { parseRoundTripBytes } from "./vector/number.ts";
export { parseQuantity, type Quantity } from "./vector/quantity.ts";
export { type TextVector, textAt, toTextVector } from "./vector/text.ts";
