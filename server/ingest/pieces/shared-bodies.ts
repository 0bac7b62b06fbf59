/** Pools of shared buffers for the bytes of bodies. Allocating a buffer for each would cost time: the system zeroes it. */

/** A buffer is larger by this share than the body that it is made for, since the next body may be a little longer. */
export const bufferSlack = 1 / 8;

/** The pool of one sender or load, which gives each buffer back once. */
export class SharedBodies {
  readonly #free: SharedArrayBuffer[] = [];

  take(bytes: number): Uint8Array<SharedArrayBuffer> {
    const free = this.#free.pop();
    const isEnough = free !== undefined && free.byteLength >= bytes;
    return new Uint8Array(isEnough ? free : new SharedArrayBuffer(withSlack(bytes)));
  }

  giveBack({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer) this.#free.push(buffer);
  }
}

/** Buffers that nobody has asked for during this time are dropped. */
const keptMs = 5_000;

/**
 * The pool of a server. Its size is bounded, because V8 does not count shared memory. A buffer that is never given back leaves
 * the pool when it is collected.
 */
export class BoundedBodies {
  readonly #bytesMax: number;
  /** Bytes in use or free. */
  #bytes = 0;
  readonly #free: SharedArrayBuffer[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The arrays that are lent. The same memory has another one each time. */
  readonly #lent = new WeakSet<Uint8Array>();
  /** Finds what is not given back. */
  readonly #lost = new FinalizationRegistry<number>((bytes) => {
    this.#bytes -= bytes;
  });

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Memory that nobody else has until it is given back; undefined where it would be too much. */
  take(bytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    const enough = this.#free.findLastIndex((buffer) => buffer.byteLength >= bytes);
    if (enough >= 0) return this.#lend(this.#free.splice(enough, 1)[0]!, bytes);
    // A sender's bodies grow, so a buffer that is too small makes room for a larger one.
    const small = this.#free.at(-1);
    const length = withSlack(bytes);
    if (this.#bytes - (small?.byteLength ?? 0) + length > this.#bytesMax) return undefined;
    if (small !== undefined) this.#forget(this.#free.pop()!);
    // With `maxByteLength` V8 maps the buffer itself, in pages of 4 KiB. Without, glibc would ask for huge pages, and the first
    // write to 150 MB of these took 0.5 s in a virtual machine that returns unused memory to its host, in place of 0.1 s.
    const buffer = new SharedArrayBuffer(length, { maxByteLength: length });
    this.#bytes += length;
    this.#lost.register(buffer, length, buffer);
    return this.#lend(buffer, bytes);
  }

  /** Takes back an array of `take`, once nobody reads it any more. Does nothing with others, and at a second time. */
  giveBack(lent: Uint8Array): void {
    if (!this.#lent.delete(lent)) return;
    this.#free.push(lent.buffer as SharedArrayBuffer);
    this.#timer ??= setTimeout(() => this.#dropFree(), keptMs).unref();
    this.#timer.refresh();
  }

  #lend(buffer: SharedArrayBuffer, bytes: number): Uint8Array<SharedArrayBuffer> {
    const lent = new Uint8Array(buffer, 0, bytes);
    this.#lent.add(lent);
    return lent;
  }

  #dropFree(): void {
    for (const buffer of this.#free.splice(0)) this.#forget(buffer);
  }

  #forget(buffer: SharedArrayBuffer): void {
    this.#lost.unregister(buffer);
    this.#bytes -= buffer.byteLength;
  }
}

function withSlack(bytes: number): number {
  return bytes + Math.floor(bytes * bufferSlack);
}
