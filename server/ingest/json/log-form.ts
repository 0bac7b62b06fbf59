import type { RowRanges } from "../../../engine/index.ts";
import type { RowForm } from "./json-lines.ts";
import type { JsonScanner } from "./json-scanner.ts";

/** Fields of a log row, by their place. */
const Field = { timeUnixNano: 0, timestamp: 1, log_level: 2, message: 3 } as const;

/** The time of rows without one of their own, and how many those are. */
interface Arrivals {
  readonly arrivalMs: number;
  untimed: number;
}

/** Log rows as `readLogRow` reads them. */
export class LogForm implements RowForm {
  readonly fields = Object.keys(Field);
  readonly ownKeys = 0;
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
        return this.#takeTime(this.#scanner.readNanos(at));
      case Field.timestamp: {
        this.#hasMillis = true;
        const end = this.#scanner.readMillis(at);
        // The finer time goes before it.
        return this.#hasNanos ? end : this.#takeTime(end);
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
    this.#sink.untimed++;
    this.#row.seconds = Math.floor(this.#sink.arrivalMs / 1000);
    this.#row.nanos = (this.#sink.arrivalMs % 1000) * 1e6;
    return true;
  }

  #takeTime(end: number): number {
    this.#row.seconds = this.#scanner.seconds;
    this.#row.nanos = this.#scanner.nanos;
    return end;
  }
}
