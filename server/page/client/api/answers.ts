/** Answers of the server, as far as the page reads them. */

/** A row of logs as a search shows it. */
export interface FoundLog {
  /** Names the row; present where ids were asked for. */
  id?: string;
  /** Unix milliseconds. */
  timestamp: number;
  log_level: string;
  message: string;
  attributes: Record<string, string>;
}

/** One page of a search for logs. */
export interface LogPage {
  count: number;
  logs: FoundLog[];
  cursor?: string;
  warnings?: string[];
}

/** A row with those before and after it, each list the newest first. */
export interface AroundAnswer {
  row: FoundLog;
  before: FoundLog[];
  after: FoundLog[];
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
}

/** Counts by bucket; each series has the value of the field that it is counted by. */
export interface HistogramAnswer {
  bucketSize: number;
  partial: number[];
  series: { level?: string; value?: string | null; other?: boolean; points: [number, number][] }[];
  count: number;
}

export interface FieldsAnswer {
  fields: { name: string; rows: number }[];
  count: number;
  isWhole: boolean;
}

export interface ValuesAnswer {
  values: { value: string; count: number }[];
  isWhole: boolean;
  countedFrom?: number;
}

export interface PatternsAnswer {
  count: number;
  distinct: number;
  patterns: {
    template: string;
    text: string;
    count: number;
    share: number;
    example: string;
    firstSeen: number;
    lastSeen: number;
    levels: Record<string, number>;
  }[];
}

/** Series of an aggregation over time; `bucketSize` is in seconds, `partial` has starts of buckets. */
export interface FoundSeries {
  series: { labels: Record<string, string>; points: [number, number][] }[];
  bucketSize: number;
  partial: number[];
  warnings?: string[];
}
