/**
 * Has V8 look for unused objects once enough shared memory is unused on this thread. V8 does not count shared memory, and
 * would look for it late: parts that were sealed long ago stay in memory as long as some thread has an object for them.
 * Does nothing in a process that was started without `--expose-gc`.
 */
export class SharedGarbage {
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax shared memory that may be unused and not yet given back */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts shared memory that this thread needs no more. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#bytesMax) return;
    this.#bytes = 0;
    globalThis.gc?.();
  }
}
