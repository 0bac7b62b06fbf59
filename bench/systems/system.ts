/** What a system must offer to be compared. */
import type { BenchDataset } from "../datasets/dataset.ts";
import type { BenchQuestion, QuestionKind } from "../datasets/question.ts";
import type { ProcessCost } from "../measure/process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import type { CanonicalAnswer } from "./answer.ts";

export const peerNames = ["duckdb", "clickhouse", "ripgrep"] as const;
export type PeerName = (typeof peerNames)[number];

/** `svc-before` is another revision of svc, measured in place of the peers. */
export type SystemName = "svc" | "svc-before" | PeerName;

/** Where a system's store is, and what it holds. */
export interface StoreTarget {
  system: SystemName;
  /** The store's own folder. */
  dir: string;
  dataset: BenchDataset;
  threads: number;
  /** The working copy whose svc is run. */
  root: string;
}

/** The module of one system, in `systems/<name>.ts`. */
export interface SystemModule {
  /** Kinds of questions that the system can answer. */
  listKinds(target: StoreTarget): Promise<readonly QuestionKind[]>;
  /** Makes the store from the data set's file. */
  load(target: StoreTarget, show: ShowProgress): Promise<SystemLoad>;
  open(target: StoreTarget): Promise<System>;
}

/** A system open on its stored rows. A process opens one. */
export interface System {
  /** Answers a question; the time until the promise resolves is measured. Throws where the system fails. */
  ask(question: BenchQuestion): Promise<SystemResult>;
  close(): Promise<void>;
}

export interface SystemResult {
  /** Converts what the system returned; called outside of the measured time. */
  answer(): CanonicalAnswer;
  /** Bytes of columns read from the disk, as stored; absent where the system does not report it. */
  bytesRead?: number;
}

export interface LoadFigure {
  rows: number;
  inputBytes: number;
  /** Until all rows are durable and visible to queries. */
  loadSeconds: number;
  /** The same over HTTP, for a system that is loaded that way, too. */
  httpSeconds?: number;
  /** CPU time of all threads during the load; absent where it is not measured. */
  cpuSeconds?: number;
  /** Of the load and of all until everything is sealed, merged or optimised; absent where there is no /proc. */
  lifeCost?: ProcessCost;
  /** After the load, until everything is sealed, merged or optimised. */
  settleSeconds: number;
  /** Allocated blocks after that, free pages included. */
  diskBytes: number;
  /** The part of `diskBytes` that indexes of text and ids take; 0 where the system does not report it. */
  indexBytes: number;
  /** Largest resident set of the process that loaded. */
  memoryBytesPeak: number;
}

/** What a system's module measures of its load; rows and input bytes are those of the data set. */
export type SystemLoad = Omit<LoadFigure, "rows" | "inputBytes">;
