/** Reads records of OTLP in protobuf into the columns of a batch in WebAssembly, but for those of unusual shapes. */

import { type RowStop, rowStops } from "./batch-kernels.ts";
import { KernelRows, type RowReading, type RowRules } from "./kernel-rows.ts";
import type { MemoryColumns } from "./memory-columns.ts";
import type { RowRanges } from "./row-ranges.ts";

/** What the caller knows of the form of the records. */
export interface OtlpRecordForm extends RowReading {
  /** Attributes with keys below this number are left to the caller. */
  reservedKeys: number;
  /** Keys of attributes that come from fields of a record; see assembly/batch/otlplogs.ts and otlpspans.ts for their order. */
  fieldKeys: readonly number[];
}

/** The bytes of a body, and where its records lie in them. Ranges count from their beginning. */
export interface OtlpRecordPlace {
  bytes: Buffer;
  /** The fields of a scope that were not read yet. */
  from: number;
  to: number;
  /** From here to the end of the bytes, texts of one record may be written. */
  roomFrom: number;
}

/** Records that are read from one body. */
export class OtlpRecords extends KernelRows {
  constructor(columns: MemoryColumns, form: OtlpRecordForm, rules: RowRules) {
    const { kernels } = columns;
    super(columns, kernels.beginRecords(form.reservedKeys), form, rules);
    for (const [field, key] of form.fieldKeys.entries()) kernels.setFieldKey(field, key);
  }

  /**
   * Says which attributes the records share that are read from now on: those of `shared`, which is their set's number
   * `sharedSet`. Returns false where they are too many.
   */
  share(shared: RowRanges, sharedSet: number): boolean {
    const { kernels } = this.columns;
    if (shared.attributes > kernels.sharedMax.value) return false;
    shared.sharedSet = sharedSet;
    this.columns.stageRow(shared);
    kernels.shareStaged();
    return true;
  }

  /** Reads at most `rowsMax` records. */
  read({ bytes, from, to, roomFrom }: OtlpRecordPlace, rowsMax: number): RowStop {
    const at = bytes.byteOffset;
    const room = [at + roomFrom, at + bytes.length] as const;
    return rowStops[this.columns.kernels.readRecords(at, at + from, at + to, ...room, rowsMax)]!;
  }

  /** Records that the last call of `read` added. */
  get rowsRead(): number {
    return this.columns.kernels.recordsRead();
  }

  /** Where the fields begin that were not read: with the record at which reading stopped, or after it where it is staged. */
  get next(): number {
    return this.columns.kernels.nextRecord();
  }
}
