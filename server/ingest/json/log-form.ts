/** The fields of a log row for the fast JSON reader. */

import type { BatchBuilder, RowRanges } from "../../../engine/index.ts";
import { loggerNames, otherSignalNames } from "../loggers/field-names.ts";
import { areMillis } from "../loggers/log-time.ts";
import type { RowForm } from "./json-lines.ts";
import type { JsonScanner } from "./json-scanner.ts";

/** Indexes of the fields. */
const Field = { timeUnixNano: 0, timestamp: 1, log_level: 2, message: 3 } as const;

/** The time of arrival for rows without a time, and the number of those rows. */
interface Arrivals {
  readonly arrivalMs: number;
  untimedRows: number;
  readonly builder: BatchBuilder;
}

/** What a top-level field says of a row: nothing, that it has a logger's form, or that it may be of another signal. */
type RowKind = "own" | "logger" | "other";

/** Reads log rows from bytes, with the same result as `readLogRow`. */
export class LogForm implements RowForm {
  readonly fields = Object.keys(Field);
  readonly reservedKeys = 0;
  readonly #scanner: JsonScanner;
  readonly #sink: Arrivals;
  #row!: RowRanges;
  #hasNanos = false;
  #hasMillis = false;
  #hasLevel = false;
  /** For each key of the builder, what a top-level field of that name says of the row's form. */
  readonly #formOfKey: RowKind[] = [];

  constructor(scanner: JsonScanner, sink: Arrivals) {
    this.#scanner = scanner;
    this.#sink = sink;
  }

  begin(row: RowRanges): void {
    this.#row = row;
    this.#hasNanos = false;
    this.#hasMillis = false;
    this.#hasLevel = false;
  }

  readField(field: number, at: number): number {
    switch (field) {
      case Field.timeUnixNano:
        this.#hasNanos = true;
        return this.#setTime(this.#scanner.readNanos(at));
      case Field.timestamp: {
        this.#hasMillis = true;
        const end = this.#scanner.readMillis(at);
        // `timeUnixNano` is finer, so it wins.
        if (this.#hasNanos) return end;
        return areMillis(this.#scanner.seconds * 1000) ? this.#setTime(end) : -1;
      }
      case Field.log_level: {
        this.#hasLevel = true;
        const end = this.#scanner.readString(at);
        this.#row.levelFrom = at + 1;
        this.#row.levelTo = this.#scanner.text.textTo;
        return end;
      }
      default: {
        const end = this.#scanner.readString(at);
        this.#row.messageFrom = at + 1;
        this.#row.messageTo = this.#scanner.text.textTo;
        return end;
      }
    }
  }

  end(topLevel: RowRanges, hasAttributes: boolean): boolean {
    const isOwnForm = hasAttributes || this.#hasLevel || this.#hasNanos;
    for (let i = 0; i < topLevel.attributes; i++) {
      const form = this.#formOf(topLevel.keys[i]!);
      if (form === "other" || (form === "logger" && !isOwnForm)) return false;
    }
    if (this.#hasNanos || this.#hasMillis) return true;
    this.#sink.untimedRows++;
    this.#row.seconds = Math.floor(this.#sink.arrivalMs / 1000);
    this.#row.nanos = (this.#sink.arrivalMs % 1000) * 1e6;
    return true;
  }

  #formOf(key: number): RowKind {
    const known = this.#formOfKey[key];
    if (known !== undefined) return known;
    const name = this.#sink.builder.keyText(key);
    const form = otherSignalNames.has(name) ? "other" : loggerNames.has(name) ? "logger" : "own";
    this.#formOfKey[key] = form;
    return form;
  }

  #setTime(end: number): number {
    this.#row.seconds = this.#scanner.seconds;
    this.#row.nanos = this.#scanner.nanos;
    return end;
  }
}
