/** Collects rows to batches, and remembers which bytes of which files they are made of. */

import { createHash } from "node:crypto";
import { batchLengthMax, batchRowsMax } from "./limits.ts";
import type { FilePosition, LogFile, Offsets } from "./log-file.ts";
import type { TailRow } from "./log-row.ts";

/** Rows to be sent. A batch that is sent again has the same key. */
export interface TailBatch {
  /** Idempotency key: of the bytes that the rows are made of. */
  key: string;
  rows: readonly TailRow[];
}

/** The bytes of one file that a batch is made of: for each stream from `from` up to the offsets in `position`. */
interface FileRange {
  from: Offsets;
  position: FilePosition;
}

/** What a batch is made of. */
export interface BatchPlan {
  key: string;
  ranges: FileRange[];
}

/** Says how far a file is done. */
interface FileProgress {
  offsetsOf(file: LogFile): Offsets;
}

export class LogBatchBuilder {
  #rows: TailRow[] = [];
  #length = 0;
  #sinceMs: number | undefined;
  /** Files that may have come further since the last batch. */
  readonly #touched = new Map<LogFile, FileProgress>();

  add(row: TailRow, nowMs: number): void {
    this.#sinceMs ??= nowMs;
    this.#rows.push(row);
    this.#length += row.message.length;
    for (const key in row.attributes) this.#length += key.length + row.attributes[key]!.length;
  }

  /** Notes that rows were made of the file's bytes. */
  touch(file: LogFile, progress: FileProgress): void {
    this.#touched.set(file, progress);
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  get isFull(): boolean {
    return this.#rows.length >= batchRowsMax || this.#length >= batchLengthMax;
  }

  /** When the oldest row came, in milliseconds of a monotonic clock; undefined without rows. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** Ends the batch. The next one begins where the files are now. */
  take(): { plan: BatchPlan; batch: TailBatch; files: LogFile[] } {
    const ranges: FileRange[] = [];
    const files: LogFile[] = [];
    for (const [file, progress] of this.#touched) {
      const at = progress.offsetsOf(file);
      if (at[0] === file.cut[0] && at[1] === file.cut[1]) continue;
      ranges.push({ from: file.cut, position: file.position(at) });
      file.cut = at;
      files.push(file);
    }
    const key = makeBatchKey(ranges);
    const batch = { key, rows: this.#rows };
    this.#rows = [];
    this.#length = 0;
    this.#sinceMs = undefined;
    this.#touched.clear();
    return { plan: { key, ranges }, batch, files };
  }
}

function makeBatchKey(ranges: readonly FileRange[]): string {
  const hash = createHash("sha256");
  for (const { from, position } of ranges) hash.update(JSON.stringify([position.id, from, position.at]));
  return `node-logs-${hash.digest("base64url")}`;
}
