/** Reads logs and spans from JSON into the columns of a batch in WebAssembly, but for rows of unusual shapes. */

import type { ByteSource } from "../vector/text-table.ts";
import { type RowStop, rowStops } from "./batch-kernels.ts";
import { KernelRows, type RowReading, type RowRules } from "./kernel-rows.ts";
import type { MemoryColumns } from "./memory-columns.ts";

/** What the caller knows of rows in JSON, whatever their form. */
export interface JsonReading extends RowReading {
  /** Where the first line begins. */
  start: number;
}

/** What the caller knows of log rows and spans. */
export interface JsonRowForm extends JsonReading {
  /** Fields at the top level of a row by which the caller knows a logger's form, or another signal. */
  loggerNames: ReadonlySet<string>;
  otherSignalNames: ReadonlySet<string>;
}

/** What a key says of the rows that have it, as bits; see assembly/batch/keys.ts. */
const KeyKind = { logger: 2, otherSignal: 4 } as const;

/** What keys of some names say of the rows that have them. */
export type KeyKinds = readonly (readonly [name: string, kind: number])[];

export function toKeyKinds({ loggerNames, otherSignalNames }: JsonRowForm): KeyKinds {
  return [
    ...Array.from(loggerNames, (name) => [name, KeyKind.logger] as const),
    ...Array.from(otherSignalNames, (name) => [name, KeyKind.otherSignal] as const),
  ];
}

/** Rows that are read from one body. */
export class JsonRows extends KernelRows {
  #source: ByteSource;

  /** The source are the bytes of the body, and room after them. */
  constructor(
    columns: MemoryColumns,
    source: ByteSource,
    reading: JsonReading,
    kinds: KeyKinds,
    rules: RowRules,
  ) {
    const { kernels } = columns;
    super(columns, kernels.beginJson(), reading, rules);
    this.#source = source;
    for (const [name, kind] of kinds) columns.addName(name, kind);
    kernels.beginRows(this.at(0), this.at(reading.start));
  }

  /**
   * Goes on with the lines of another piece, which begin at `start`; they are numbered from 1 again. Returns where they lie
   * until the next piece takes their place.
   */
  continueWith(piece: Uint8Array, start: number): ByteSource {
    this.#source = this.columns.readPiece(piece);
    this.columns.kernels.beginLines(this.at(0), this.at(start));
    return this.#source;
  }

  /** The bytes that ranges refer to. Strings are decoded in place. */
  get bytes(): Buffer {
    return this.#source.bytes;
  }

  /** Reads lines from where the last call stopped until the end of the bytes, at most `rowsMax` rows. */
  readLines(rowsMax: number): RowStop {
    const { kernels } = this.columns;
    return rowStops[kernels.readRows(this.at(this.#source.bytes.length), rowsMax)]!;
  }

  /** Reads the row at [from, to). */
  readRow(from: number, to: number): RowStop {
    return rowStops[this.columns.kernels.readRow(this.at(from), this.at(to))]!;
  }

  /** Rows that the last call of `readLines` read, with the one that it stopped at. */
  get rowsRead(): number {
    return this.columns.kernels.rowsRead();
  }

  /** Where the last row lies, and the number of its line. */
  get lastRow(): { from: number; to: number; line: number } {
    const { kernels } = this.columns;
    return { from: kernels.lastRowFrom(), to: kernels.lastRowTo(), line: kernels.lastLine() };
  }

  /** The address of a position. */
  protected at(position: number): number {
    return this.#source.bytes.byteOffset + position;
  }
}
