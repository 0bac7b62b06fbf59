/** A data set: the rows that every system is given, and the questions about them. */
import { type BenchQuestion, type QuestionKind, questionKinds } from "./question.ts";

/** Sets of logs. `train-ticket` exists only where its file is at hand. */
export const logSetNames = ["system", "company", "wide", "train-ticket"] as const;
export type LogSetName = (typeof logSetNames)[number];

/** Sets of spans and of samples of metrics. */
export const signalSetNames = ["spans", "gauges", "counters"] as const;
export type SignalSetName = (typeof signalSetNames)[number];

export interface BenchDataset {
  name: LogSetName | SignalSetName;
  /** The signal under which the rows are ingested. */
  signal: "logs" | "spans" | "metrics";
  rows: number;
  /** JSON lines of the ingestion format. */
  file: string;
  fileBytes: number;
  /** The bare messages of logs, one a line; byte 1 replaces a line feed within a message. "" for other signals. */
  textFile: string;
  /** The least time of a row, whole milliseconds. */
  startMs: number;
  /** The greatest time of a row, whole milliseconds. */
  endMs: number;
  /** Distinct values of each attribute: what the careful owner of a peer would choose its column types by. */
  attributes: Record<string, number>;
  /**
   * The object among the attributes whose members a peer keeps in one map, where the attributes are sent nested: its
   * keys differ from row to row. All other attributes have a column each.
   */
  mapAttribute?: string;
  /** By kind, in the order in which every system is asked. Kinds of other signals have none. */
  questions: Record<QuestionKind, BenchQuestion[]>;
}

/** All of a data set but its questions. */
export type DatasetFacts = Omit<BenchDataset, "questions">;
export type DatasetQuestions = Partial<BenchDataset["questions"]>;

export interface DatasetOptions {
  name: BenchDataset["name"];
  rows: number;
  dataFolder: string;
  /** Train Ticket's gzipped logs; its spans and samples lie beside them. Undefined where they are not at hand. */
  trainTicketFile: string | undefined;
}

/** Rows that are generated and written at a time. */
export const batchRows = 2000;
/** Seed of all generated sets. */
export const seed = 1;

export function makeEmptyQuestions(): BenchDataset["questions"] {
  return Object.fromEntries(questionKinds.map((kind) => [kind, []])) as unknown as BenchDataset["questions"];
}
