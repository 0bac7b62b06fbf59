/** Commands of a test to the process that has the store open, and its answers: one line of JSON each. */
import type { FailureKind, StoreStats, VerifyReport } from "../../engine/index.ts";
import type { Contents } from "./rows/contents.ts";

export type Command =
  | { do: "open"; dir: string; retentionAgeMs?: number; nowMs?: number }
  /** Appends batches by their numbers, each `times` times at once. */
  | { do: "append"; batches: number[]; times?: number }
  | { do: "seal" }
  /** Writes one entry of the control plane's state. */
  | { do: "write-state"; id: string; value: number }
  | { do: "read"; pageRows?: number }
  | { do: "verify"; dir: string }
  | { do: "close" };

/** The outcome of a command; "bug" is any error but a Failure. */
export type Answer<T> = { ok: true; value: T } | { ok: false; kind: FailureKind | "bug"; message: string };

export interface Appended {
  batch: number;
  /** The acknowledged number of rows; undefined where the append failed. */
  rows: number | undefined;
  duplicate: boolean;
  failure: string | undefined;
}

export interface ReadAnswer {
  contents: Contents;
  stats: StoreStats;
  /** Warnings and errors that the store logged since it was opened. */
  events: string[];
}

/** The result of each command. */
export interface Answers {
  open: { events: string[] };
  append: Appended[];
  seal: null;
  "write-state": null;
  read: ReadAnswer;
  verify: VerifyReport;
  close: null;
}
