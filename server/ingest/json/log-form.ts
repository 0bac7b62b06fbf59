/** The fields of a log row for the fast JSON reader. */

import type { RowRanges } from "../../../engine/index.ts";
import type { RowForm } from "./json-lines.ts";
import type { JsonScanner } from "./json-scanner.ts";

/** Indexes of the fields. */
const Field = { timeUnixNano: 0, timestamp: 1, log_level: 2, message: 3 } as const;

/** The time of arrival for rows without a time, and the number of those rows. */
interface Arrivals {
  readonly arrivalMs: number;
  untimedRows: number;
}

/** Reads log rows from bytes, with the same result as `readLogRow`. */
export class LogForm implements RowForm {
  readonly fields = Object.keys(Field);
  readonly reservedKeys = 0;
  readonly #scanner: JsonScanner;
  readonly #sink: Arrivals;
  #row!: RowRanges;
  #hasNanos = false;
  #hasMillis = false;

  constructor(scanner: JsonScanner, sink: Arrivals) {
    this.#scanner = scanner;
    this.#sink = sink;
  }

  begin(row: RowRanges): void {
    this.#row = row;
    this.#hasNanos = false;
    this.#hasMillis = false;
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
        return this.#hasNanos ? end : this.#setTime(end);
      }
      case Field.log_level: {
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

  end(): boolean {
    if (this.#hasNanos || this.#hasMillis) return true;
    this.#sink.untimedRows++;
    this.#row.seconds = Math.floor(this.#sink.arrivalMs / 1000);
    this.#row.nanos = (this.#sink.arrivalMs % 1000) * 1e6;
    return true;
  }

  #setTime(end: number): number {
    this.#row.seconds = this.#scanner.seconds;
    this.#row.nanos = this.#scanner.nanos;
    return end;
  }
}
