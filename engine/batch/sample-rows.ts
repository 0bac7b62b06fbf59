/** Reads samples from JSON lines in WebAssembly, but for rows that name their series in a way that is new. */

import { parseRoundTripBytes } from "../vector/number.ts";
import { type RowStop, rowStops } from "./batch-kernels.ts";
import type { SeriesMemory } from "./series-memory.ts";

/** What `readSampleLines` stops at where it leaves the value of a staged row to the caller; see samplelines.ts. */
const stagedText = rowStops.length;

/** Where samples are added. */
interface SampleBatch {
  /** Takes the rows that the kernels handed over. */
  takeRows(): void;
  /** Adds a sample of the series that an alias names. Returns why it cannot be stored, or undefined. */
  addByAlias(alias: number, seconds: number, nanos: number, value: number): string | undefined;
}

/** Rows that are read from one body. Places count from its beginning. */
export class SampleRows {
  readonly #batch: SampleBatch;
  readonly #memory: SeriesMemory;
  readonly #body: Uint8Array;
  /** Address of the body. */
  readonly #at: number;
  /** The value of the staged row. */
  #value = 0;

  /** `kind`: the kind of the aliases of these rows. The first line begins at `start`. */
  constructor(batch: SampleBatch, memory: SeriesMemory, body: Uint8Array, start: number, kind: number) {
    this.#batch = batch;
    this.#memory = memory;
    this.#body = body;
    this.#at = memory.placeBody(body);
    memory.kernels.beginSampleLines(this.#at, this.#at + start, kind);
  }

  /** Reads lines from where the last call stopped, at most `rowsMax` rows that are not blank. */
  readLines(rowsMax: number): RowStop {
    return this.#stopOf(this.#memory.kernels.readSampleLines(this.#at + this.#body.length, rowsMax));
  }

  /** Reads the row at [from, to). */
  readRow(from: number, to: number): RowStop {
    return this.#stopOf(this.#memory.kernels.readSampleRow(this.#at + from, this.#at + to));
  }

  /** Rows that the last call of `readLines` read, with the one that it stopped at. */
  get rowsRead(): number {
    return this.#memory.kernels.rowsRead();
  }

  /** Where the last row lies, and the number of its line. */
  get lastRow(): { from: number; to: number; line: number } {
    const { kernels } = this.#memory;
    return { from: kernels.lastRowFrom(), to: kernels.lastRowTo(), line: kernels.lastLine() };
  }

  /** Adds the staged row. Returns why it cannot be stored, or undefined. */
  addStaged(): string | undefined {
    const { kernels } = this.#memory;
    const [seconds, nanos] = [kernels.stagedSeconds(), kernels.stagedNanos()];
    return this.#batch.addByAlias(kernels.stagedAlias(), seconds, nanos, this.#value);
  }

  #stopOf(number: number): RowStop {
    const { kernels } = this.#memory;
    this.#batch.takeRows();
    if (number !== stagedText) {
      const stop = rowStops[number]!;
      if (stop === "staged row") this.#value = kernels.stagedValue();
      return stop;
    }
    const value = parseRoundTripBytes(this.#body, kernels.stagedValueFrom(), kernels.stagedValueTo());
    if (value === undefined) return "unusual row";
    this.#value = value;
    return "staged row";
  }
}
