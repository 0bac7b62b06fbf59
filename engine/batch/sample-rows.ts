/** Reads samples from JSON lines in WebAssembly, but for rows that name their series in a way that is new. */

import { parseRoundTripBytes } from "../vector/number.ts";
import type { SeriesMemory } from "./series-memory.ts";

/** In the order of the numbers in assembly/batch/samplelines.ts. */
const stops = ["end", "unusual row", "staged row", "rows", "staged text"] as const;

/** What reading stopped at: the end, a row that the caller has to read or to add; or as many rows as were asked for. */
export type SampleStop = "end" | "unusual row" | "staged row" | "rows";

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
  readLines(rowsMax: number): SampleStop {
    return this.#stopOf(this.#memory.kernels.readSampleLines(this.#at + this.#body.length, rowsMax));
  }

  /** Reads the row at [from, to). */
  readRow(from: number, to: number): SampleStop {
    return this.#stopOf(this.#memory.kernels.readSampleRow(this.#at + from, this.#at + to));
  }

  /** Rows that the last call of `readLines` read, with the one that it stopped at. */
  get rowsRead(): number {
    return this.#memory.kernels.sampleRowsRead();
  }

  /** Where the last row lies, and the number of its line. */
  get lastRow(): { from: number; to: number; line: number } {
    const { kernels } = this.#memory;
    return { from: kernels.sampleRowFrom(), to: kernels.sampleRowTo(), line: kernels.sampleLine() };
  }

  /** Adds the staged row. Returns why it cannot be stored, or undefined. */
  addStaged(): string | undefined {
    const { kernels } = this.#memory;
    const [seconds, nanos] = [kernels.stagedSeconds(), kernels.stagedNanos()];
    return this.#batch.addByAlias(kernels.stagedAlias(), seconds, nanos, this.#value);
  }

  #stopOf(number: number): SampleStop {
    const { kernels } = this.#memory;
    this.#batch.takeRows();
    const stop = stops[number]!;
    if (stop === "staged row") this.#value = kernels.stagedValue();
    if (stop !== "staged text") return stop;
    const value = parseRoundTripBytes(this.#body, kernels.stagedValueFrom(), kernels.stagedValueTo());
    if (value === undefined) return "unusual row";
    this.#value = value;
    return "staged row";
  }
}
