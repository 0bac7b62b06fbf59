/** Joins messages of GELF that come in several datagrams. */

import {
  gelfChunkMs,
  gelfChunkOverhead,
  gelfChunksBytesMax,
  gelfChunksMax,
  gelfIncompleteOverhead,
} from "../limits.ts";

/** Two bytes of magic, eight of the message's id, the chunk's number and the number of chunks. */
const headBytes = 12;
const magic = Buffer.of(0x1e, 0x0f);
/** How often old messages are looked for. */
const lookMs = 1_000;
/** What is kept of the memory when it is full. */
const shareKept = 7 / 8;

interface Incomplete {
  /** The chunks that have come, by their numbers. */
  chunks: Map<number, Buffer>;
  /** How many chunks the message has. */
  count: number;
  /** Memory that it takes. */
  bytes: number;
  beganMs: number;
}

export class ChunkJoiner {
  readonly #elapsed: () => number;
  /** By the message's id. The oldest is the first. */
  readonly #incomplete = new Map<string, Incomplete>();
  /** Memory that all incomplete messages take. */
  #bytes = 0;
  #nextLookMs = Number.NEGATIVE_INFINITY;

  /** `elapsed`: milliseconds that go on steadily. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Returns the message once all of its chunks have come; a datagram that is no chunk is a message by itself. */
  add(datagram: Buffer): Buffer | undefined {
    if (!datagram.subarray(0, 2).equals(magic)) return datagram;
    const [number = 0, count = 0] = [datagram[10], datagram[11]];
    if (datagram.length <= headBytes || number >= count || count > gelfChunksMax) return undefined;
    const id = datagram.toString("latin1", 2, 10);
    const message = this.#incomplete.get(id) ?? this.#begin(id, count);
    const { chunks } = message;
    if (message.count !== count || chunks.has(number)) return undefined;
    const chunk = Buffer.from(datagram.subarray(headBytes));
    chunks.set(number, chunk);
    this.#charge(message, chunk.length + gelfChunkOverhead);
    if (chunks.size === count) {
      this.#forget(id, message);
      return Buffer.concat(Array.from({ length: count }, (_, i) => chunks.get(i)!));
    }
    this.#forgetOld();
    return undefined;
  }

  #begin(id: string, count: number): Incomplete {
    const message: Incomplete = { chunks: new Map(), count, bytes: 0, beganMs: this.#elapsed() };
    this.#incomplete.set(id, message);
    this.#charge(message, gelfIncompleteOverhead);
    return message;
  }

  #charge(message: Incomplete, bytes: number): void {
    message.bytes += bytes;
    this.#bytes += bytes;
  }

  /**
   * Forgets messages whose other chunks do not come any more, and the oldest where all take too much memory. The first
   * look at a map passes all that was removed from it, so it looks once a second, or removes many at a time.
   */
  #forgetOld(): void {
    const nowMs = this.#elapsed();
    const isFull = this.#bytes > gelfChunksBytesMax;
    if (!isFull && nowMs < this.#nextLookMs) return;
    this.#nextLookMs = nowMs + lookMs;
    const bytesKept = isFull ? gelfChunksBytesMax * shareKept : gelfChunksBytesMax;
    for (const [id, message] of this.#incomplete) {
      const isOld = nowMs - message.beganMs > gelfChunkMs;
      if (!isOld && this.#bytes <= bytesKept) return;
      this.#forget(id, message);
    }
  }

  #forget(id: string, { bytes }: Incomplete): void {
    this.#incomplete.delete(id);
    this.#bytes -= bytes;
  }
}
