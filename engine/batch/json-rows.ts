/** Reads logs and spans from JSON into the columns of a batch in WebAssembly, but for rows of unusual shapes. */

import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  levelBytesMax,
  messageBytesMax,
} from "../limits.ts";
import type { ByteSource } from "../vector/text-table.ts";
import type { AdmissionCounts, AdmissionPolicy, TimeBounds } from "./admission-policy.ts";
import { type LineStop, lineStops } from "./batch-kernels.ts";
import type { MemoryColumns } from "./memory-columns.ts";
import { RowRanges } from "./row-ranges.ts";

/** What the caller knows of the form of the rows. */
export interface JsonRowForm {
  /** The keys of attributes that come from a span's fields are the first of its batch; see assembly/batch/jsonspans.ts. */
  signal: "logs" | "traces";
  /** Where the first line begins. */
  start: number;
  /** The time of rows without a time. */
  arrivalMs: number;
  /** Fields at the top level of a row by which the caller knows a logger's form, or another signal. */
  loggerNames: ReadonlySet<string>;
  otherSignalNames: ReadonlySet<string>;
  /** Rows that would give the batch more keys, or that have more members in `attributes`, are left to the caller. */
  keysMax: number;
  membersMax: number;
  /** Whether rows whose message begins with a brace are left to the caller. */
  flattensJson: boolean;
}

/** What the batch says of its rows. */
interface RowRules extends TimeBounds {
  policy: AdmissionPolicy;
  /** Keys of stamps. */
  stamped: readonly string[];
  counts: AdmissionCounts;
}

/** What a key says about the rows that have it, as bits; see assembly/batch/jsonkeys.ts. */
const KeyKind = { logger: 2, otherSignal: 4, policy: 8 } as const;

/** Rows that are read from one body. Ranges count from its beginning. */
export class JsonRows {
  readonly #columns: MemoryColumns;
  readonly #source: ByteSource;
  readonly #counts: AdmissionCounts;
  readonly #row = new RowRanges();

  constructor(columns: MemoryColumns, source: ByteSource, form: JsonRowForm, rules: RowRules) {
    this.#columns = columns;
    this.#source = source;
    this.#counts = rules.counts;
    const { kernels } = columns;
    const settings = toSettings(form, rules);
    columns.memory.float64(kernels.beginJson(), settings.length).set(settings);
    for (const [names, kind] of [
      [form.loggerNames, KeyKind.logger],
      [form.otherSignalNames, KeyKind.otherSignal],
      [rules.stamped, KeyKind.policy],
    ] as const)
      for (const name of names) this.#addName(name, kind);
    kernels.beginRows(this.#at(0), this.#at(form.start));
  }

  /** The bytes that ranges refer to. Strings are decoded in place. */
  get bytes(): Buffer {
    return this.#source.bytes;
  }

  /** Reads lines from where the last call stopped until the end of the bytes, at most `rowsMax` rows. */
  readLines(rowsMax: number): LineStop {
    const { kernels } = this.#columns;
    return lineStops[kernels.readRows(this.#at(this.#source.bytes.length), rowsMax)]!;
  }

  /** Reads the row at [from, to). */
  readRow(from: number, to: number): LineStop {
    return lineStops[this.#columns.kernels.readRow(this.#at(from), this.#at(to))]!;
  }

  /** Rows that the last call of `readLines` read, with the one that it stopped at. */
  get rowsRead(): number {
    return this.#columns.kernels.rowsRead();
  }

  /** Where the last row lies, and the number of its line. */
  get lastRow(): { from: number; to: number; line: number } {
    const { kernels } = this.#columns;
    return { from: kernels.lastRowFrom(), to: kernels.lastRowTo(), line: kernels.lastLine() };
  }

  /** The row that is staged, valid until the next one. */
  get stagedRow(): RowRanges {
    this.#columns.readStaged(this.#row);
    return this.#row;
  }

  /** Ends reading. Returns the number of rows without a time of their own. */
  finish(): number {
    const { kernels } = this.#columns;
    this.#counts.skewedBehind += kernels.rowsSkewedBehind();
    this.#counts.skewedAhead += kernels.rowsSkewedAhead();
    return kernels.untimedRows();
  }

  #at(position: number): number {
    return this.#source.bytes.byteOffset + position;
  }

  #addName(name: string, kind: number): void {
    const { scratch, kernels } = this.#columns;
    const length = scratch.write(name, 0);
    kernels.addName(scratch.source.bytes.byteOffset, length, kind);
  }
}

const never = { seconds: Number.POSITIVE_INFINITY, nanos: 0 };
const always = { seconds: Number.NEGATIVE_INFINITY, nanos: 0 };

/** The settings, in the order of the indices in assembly/batch/jsonadmission.ts. */
function toSettings(form: JsonRowForm, rules: RowRules): number[] {
  const { policy, min, max, skewMin = always, skewMax = never } = rules;
  const { arrivalMs, keysMax, membersMax, flattensJson } = form;
  const excludes = (policy.exclusions ?? []).length > 0;
  return [
    ...[Math.floor(arrivalMs / 1000), (arrivalMs % 1000) * 1e6],
    ...[excludes ? 1 : 0, flattensJson ? 1 : 0],
    ...[min.seconds, min.nanos, max.seconds, max.nanos],
    ...[keysMax, attributesPerRowMax, levelBytesMax, attributeKeyBytesMax, attributeValueBytesMax],
    ...[messageBytesMax, policy.rowBytesMax ?? Number.POSITIVE_INFINITY],
    ...[skewMin.seconds, skewMin.nanos, skewMax.seconds, skewMax.nanos],
    ...[membersMax, form.signal === "traces" ? 1 : 0],
  ];
}
