/** The engine's public face. */

export type { Aggregated, AggregateQuery, Aggregation, Points, Value } from "./aggregation.ts";
export type { EncodedBatch } from "./batch.ts";
export { BatchDraft, encodeBatch, RowRanges } from "./batchdraft.ts";
export type { DamageReport } from "./damage.ts";
export type { QueryLimits, RowQuery, SearchResult } from "./dispatch.ts";
export { Failure, type FailureKind } from "./failure.ts";
export type { CompareOp, Extractor, Field, Filter, PatternPart, Step } from "./filter.ts";
export { type ColumnInventory, type SignalInventory, storeInventory } from "./inventory.ts";
export type { FoundRow, LogRow, RefusedRow, RowPosition } from "./row.ts";
export type { SampleQuery } from "./samplequery.ts";
export { type RowSignal, type Signal, signals } from "./signal.ts";
export { type Json, openState, type State, type StateChange } from "./state.ts";
export type {
  AppendOptions,
  AppendResult,
  ScanQuery,
  StoreEvent,
  StoreOptions,
} from "./store.ts";
export { openStore, Store } from "./store.ts";
export type { SignalStats, StoreStats } from "./storestats.ts";
export { templateIdOf, templateTextOf } from "./template/id.ts";
export { type TextVector, textAt } from "./text.ts";
export { type VerifyProgress, type VerifyReport, verifyStore } from "./verify.ts";
