/** Rows while stages work on them, and what their labels are. */
import type { LogRow } from "../../../engine/index.ts";

export type RowSource = "logs" | "traces";

/** What has labels: a row, or a series. */
export interface Labelled {
  /** The text of a label; absent where there is no such label. */
  readLabel(name: string): string | undefined;
  /** Whether a label is in milliseconds, so that it compares with durations. */
  isMilliseconds(name: string): boolean;
  /** Whether `log_level` and `message` are columns, which compare in their own ways. */
  hasColumns: boolean;
}

const columns = new Set(["timestamp", "log_level", "message", "template"]);

/** A row as the stages so far have left it. */
export class StagedRow implements Labelled {
  readonly source: RowSource;
  readonly stored: LogRow;
  readonly arrival: number;
  /** The whole millisecond. */
  readonly timeMs: number;
  message: string;
  attributes: Map<string, string>;
  /** Labels of the joined row that a search shows wherever they are there. */
  joined = new Map<string, string>();
  /** Labels in milliseconds that stages have given. */
  milliseconds = new Set<string>();
  readonly hasColumns: boolean;

  constructor(source: RowSource, stored: LogRow, arrival: number) {
    this.source = source;
    this.stored = stored;
    this.arrival = arrival;
    this.timeMs = Number(stored.timeNs / 1_000_000n);
    this.message = stored.message;
    this.attributes = new Map(Object.entries(stored.attributes));
    this.hasColumns = source === "logs";
  }

  copy(): StagedRow {
    const copy = new StagedRow(this.source, this.stored, this.arrival);
    copy.message = this.message;
    copy.attributes = new Map(this.attributes);
    copy.joined = new Map(this.joined);
    copy.milliseconds = new Set(this.milliseconds);
    return copy;
  }

  /** What line filters and extractions read. */
  get text(): string {
    return this.source === "logs" ? this.message : (this.attributes.get("name") ?? "");
  }

  readLabel(name: string): string | undefined {
    if (name === "timestamp") return String(this.timeMs);
    if (this.hasColumns) {
      if (name === "message") return this.message;
      if (name === "log_level") return this.stored.level === "" ? undefined : this.stored.level;
      const inner = name.slice("attributes.".length);
      if (name.startsWith("attributes.") && columns.has(inner)) return this.attributes.get(inner);
    }
    return this.attributes.get(name) ?? this.joined.get(name);
  }

  isMilliseconds(name: string): boolean {
    if (name === "duration_ms") return this.source === "traces";
    return name === "traces.duration_ms" || this.milliseconds.has(name);
  }

  /** The text by which rows are grouped and read from each other: levels in lower case, nothing as the empty text. */
  readGrouped(name: string): string {
    const text = this.readLabel(name) ?? "";
    return this.hasColumns && name === "log_level" ? text.toLowerCase() : text;
  }

  setLabel(label: string, text: string | undefined): void {
    const inner = label.slice("attributes.".length);
    const name = this.hasColumns && label.startsWith("attributes.") && columns.has(inner) ? inner : label;
    this.joined.delete(name);
    if (text === undefined || text === "") this.attributes.delete(name);
    else this.attributes.set(name, text);
  }
}

/** Orders rows by time, and those of equal time by arrival. */
export function compareTimes(a: StagedRow, b: StagedRow): number {
  if (a.stored.timeNs !== b.stored.timeNs) return a.stored.timeNs < b.stored.timeNs ? -1 : 1;
  return a.arrival - b.arrival;
}
