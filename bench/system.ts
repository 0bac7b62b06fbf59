import type { Answer } from "./answer.ts";
import type { Dataset } from "./dataset.ts";
import type { StepProgress } from "./progress.ts";
import type { Question, QuestionKind } from "./question.ts";

/** A system under test, open on its stored rows. One is open in a process. */
export interface System {
  /**
   * Answers a question. What is timed ends when the promise resolves; the answer is made after that, from what the system gave.
   * Throws where the system fails.
   */
  ask(question: Question): Promise<Result>;
  close(): Promise<void>;
}

export interface Result {
  answer(): Answer;
  /** Bytes of columns that were read from the disk, as they are stored, where the system tells. */
  bytesRead?: number;
}

export interface LoadFigure {
  rows: number;
  inputBytes: number;
  /** Until all rows are durable and found by queries. */
  loadSeconds: number;
  /** The same over HTTP, where the system has such a way in, too. */
  httpSeconds?: number;
  /** CPU of all threads until then, where the system tells. */
  cpuSeconds?: number;
  /** After that, until everything is merged, sealed or optimised. */
  settleSeconds: number;
  /** Allocated blocks after that, free pages included. */
  diskBytes: number;
  /** Of these, what indexes of text and ids take; 0 where the system does not tell them apart. */
  indexBytes: number;
  /** Largest resident set of the process that loaded. */
  memoryBytesPeak: number;
}

export type SystemName = "svc" | "svc-before" | "duckdb" | "clickhouse" | "ripgrep";

/** What a system's process needs to know to work on a store. */
export interface Place {
  system: SystemName;
  /** The store's own folder. */
  dir: string;
  dataset: Dataset;
  threads: number;
  /** The working copy that svc is taken from. */
  root: string;
}

export interface SystemModule {
  /** Kinds of query that it can be asked. */
  kinds(place: Place): Promise<readonly QuestionKind[]>;
  /** Makes the store. */
  load(
    place: Place,
    show: (progress: StepProgress) => void,
  ): Promise<Omit<LoadFigure, "rows" | "inputBytes">>;
  open(place: Place): Promise<System>;
}

/** Opens the modules one by one, for a process needs only one of them and the peers' packages may not be there. */
export function systemModule(name: SystemName): Promise<SystemModule> {
  switch (name) {
    case "duckdb":
      return import("./systems/duckdb.ts");
    case "clickhouse":
      return import("./systems/clickhouse.ts");
    case "ripgrep":
      return import("./systems/ripgrep.ts");
    default:
      return import("./systems/svc.ts");
  }
}
