/** Counts of rows by the template of their message, as plain data. */
import type { ScanQuery } from "./row-query.ts";
import type { ScanStatistics } from "./scan-statistics.ts";

/** Asks for the most frequent templates among the messages of logs that pass `steps`. */
export interface TemplateQuery extends ScanQuery {
  /** Templates to return at most; 1 or more. */
  limit: number;
}

/** The rows whose messages have the same template. */
export interface CountedTemplate {
  /** The id by which queries name the template. */
  id: string;
  rows: number;
  /** Times of the first and the last row, whole milliseconds since the epoch. */
  firstMs: number;
  lastMs: number;
  /** Rows by level, in lower case; "" for rows without one. Levels without rows are left out. */
  levels: ReadonlyMap<string, number>;
}

export interface CountedTemplates {
  /** The most frequent first; equally frequent ones by id. */
  templates: CountedTemplate[];
  /** Rows that pass. */
  rows: number;
  /** Number of templates, whether returned or not. */
  distinct: number;
  scanned: ScanStatistics;
}
