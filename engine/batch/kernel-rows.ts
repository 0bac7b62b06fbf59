/** Rows that are read from a body in WebAssembly: what the reader is told of them, and what the caller gets back. */

import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  levelBytesMax,
  messageBytesMax,
} from "../limits.ts";
import type { AdmissionCounts, AdmissionPolicy, TimeBounds } from "./admission-policy.ts";
import type { MemoryColumns } from "./memory-columns.ts";
import type { RowRanges } from "./row-ranges.ts";

/** What the caller knows of the rows. */
export interface RowReading {
  /** The keys of attributes that come from a span's fields are the first of its batch; see assembly/batch/spanfields.ts. */
  signal: "logs" | "traces";
  /** The time of rows without a time. */
  arrivalMs: number;
  /** Rows that would give the batch more keys, or that have more members in `attributes`, are left to the caller. */
  keysMax: number;
  membersMax: number;
  /** The rows are documents, and not logs or spans in forms of their own. */
  areDocuments?: boolean;
  /** Longer rows, in bytes, are left to the caller. */
  lengthMax?: number;
  /** Whether rows whose message begins with a brace are left to the caller. */
  flattensJson: boolean;
}

/** What the batch says of its rows. */
export interface RowRules extends TimeBounds {
  policy: AdmissionPolicy;
  /** Keys of stamps. */
  stamped: readonly string[];
  counts: AdmissionCounts;
}

/** Rows that go straight into the columns of a batch, but for those at which reading stops. Ranges count from the body's beginning. */
export abstract class KernelRows {
  protected readonly columns: MemoryColumns;
  readonly #counts: AdmissionCounts;
  /** What the kernels had counted when the last piece ended. */
  #before = { skewedBehind: 0, skewedAhead: 0, untimed: 0 };

  /** `settingsAt`: where the reader has its settings. */
  constructor(columns: MemoryColumns, settingsAt: number, reading: RowReading, rules: RowRules) {
    this.columns = columns;
    this.#counts = rules.counts;
    columns.setRowRules(settingsAt, toSettings(reading, rules), rules.stamped);
  }

  /** The row that is staged, valid until the next one. */
  get stagedRow(): RowRanges {
    return this.columns.readStaged();
  }

  /** Ends reading a body, or a piece of it. Returns the number of its rows without a time of their own. */
  finish(): number {
    const { kernels } = this.columns;
    const before = this.#before;
    const after = {
      skewedBehind: kernels.rowsSkewedBehind(),
      skewedAhead: kernels.rowsSkewedAhead(),
      untimed: kernels.untimedRows(),
    };
    this.#before = after;
    this.#counts.skewedBehind += after.skewedBehind - before.skewedBehind;
    this.#counts.skewedAhead += after.skewedAhead - before.skewedAhead;
    return after.untimed - before.untimed;
  }
}

const never = { seconds: Number.POSITIVE_INFINITY, nanos: 0 };
const always = { seconds: Number.NEGATIVE_INFINITY, nanos: 0 };

/** The number of the form of rows in assembly/batch/admission.ts. */
function formOf({ areDocuments = false, signal }: RowReading): number {
  if (areDocuments) return 2;
  return signal === "traces" ? 1 : 0;
}

/** The settings, in the order of the indices in assembly/batch/admission.ts. */
function toSettings(reading: RowReading, rules: RowRules): number[] {
  const { policy, min, max, skewMin = always, skewMax = never } = rules;
  const { arrivalMs, keysMax, membersMax, flattensJson } = reading;
  const excludes = (policy.exclusions ?? []).length > 0;
  return [
    ...[Math.floor(arrivalMs / 1000), (arrivalMs % 1000) * 1e6],
    ...[excludes ? 1 : 0, flattensJson ? 1 : 0],
    ...[min.seconds, min.nanos, max.seconds, max.nanos],
    ...[keysMax, attributesPerRowMax, levelBytesMax, attributeKeyBytesMax, attributeValueBytesMax],
    ...[messageBytesMax, policy.rowBytesMax ?? Number.POSITIVE_INFINITY],
    ...[skewMin.seconds, skewMin.nanos, skewMax.seconds, skewMax.nanos],
    ...[membersMax, formOf(reading), reading.lengthMax ?? Number.POSITIVE_INFINITY],
  ];
}
