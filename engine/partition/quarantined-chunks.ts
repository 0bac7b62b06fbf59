/** Chunks of a running store that were hidden since they could not be read, until they are checked again. */

/** A read error of a disk or a file server may be over by then. Chosen, not measured. */
const recheckAfterMs = 5_000;

interface Waiting {
  chunks: number[];
  /** Undefined until somebody has asked what is due. */
  dueMs: number | undefined;
}

export class QuarantinedChunks<Partition extends object> {
  readonly #waiting = new Map<Partition, Waiting>();
  /** Chunks that were checked. One that cannot be read once more stays hidden until the next start. */
  readonly #checked = new WeakMap<Partition, Set<number>>();

  add(partition: Partition, chunk: number): void {
    if (this.#checked.get(partition)?.has(chunk)) return;
    const waiting = this.#waiting.get(partition);
    if (waiting === undefined) this.#waiting.set(partition, { chunks: [chunk], dueMs: undefined });
    else waiting.chunks.push(chunk);
  }

  /** Partitions whose chunks are to be checked now. `nowMs`: milliseconds of a monotonic clock. */
  due(nowMs: number): Partition[] {
    const due: Partition[] = [];
    for (const [partition, waiting] of this.#waiting) {
      waiting.dueMs ??= nowMs + recheckAfterMs;
      if (waiting.dueMs <= nowMs) due.push(partition);
    }
    return due;
  }

  /** The chunks of a partition that are to be checked. They are not returned again. */
  take(partition: Partition): number[] {
    const { chunks = [] } = this.#waiting.get(partition) ?? {};
    this.forget(partition);
    this.#checked.set(partition, new Set([...(this.#checked.get(partition) ?? []), ...chunks]));
    return chunks;
  }

  /** Is to be called when a partition is removed. */
  forget(partition: Partition): void {
    this.#waiting.delete(partition);
  }
}
