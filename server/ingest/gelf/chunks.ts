/** Joins messages of GELF that come in several datagrams. */

import { gelfChunkMs, gelfChunksBytesMax, gelfChunksMax } from "../limits.ts";

/** Two bytes of magic, eight of the message's id, the chunk's number and the number of chunks. */
const headBytes = 12;
const magic = Buffer.of(0x1e, 0x0f);

interface Incomplete {
  chunks: (Buffer | undefined)[];
  missing: number;
  bytes: number;
  beganMs: number;
}

export class ChunkJoiner {
  readonly #elapsed: () => number;
  /** By the message's id. The oldest is the first. */
  readonly #incomplete = new Map<string, Incomplete>();
  #bytes = 0;

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
    if (message.chunks.length !== count || message.chunks[number] !== undefined) return undefined;
    const chunk = Buffer.from(datagram.subarray(headBytes));
    message.chunks[number] = chunk;
    message.bytes += chunk.length;
    this.#bytes += chunk.length;
    if (--message.missing === 0) {
      this.#forget(id, message);
      return Buffer.concat(message.chunks as Buffer[]);
    }
    this.#forgetOld();
    return undefined;
  }

  #begin(id: string, count: number): Incomplete {
    const chunks = new Array<Buffer | undefined>(count).fill(undefined);
    const message: Incomplete = { chunks, missing: count, bytes: 0, beganMs: this.#elapsed() };
    this.#incomplete.set(id, message);
    return message;
  }

  /** Forgets messages whose other chunks do not come any more, and the oldest where all take too much memory. */
  #forgetOld(): void {
    const nowMs = this.#elapsed();
    for (const [id, message] of this.#incomplete) {
      const isOld = nowMs - message.beganMs > gelfChunkMs;
      if (!isOld && this.#bytes <= gelfChunksBytesMax) return;
      this.#forget(id, message);
    }
  }

  #forget(id: string, { bytes }: Incomplete): void {
    this.#incomplete.delete(id);
    this.#bytes -= bytes;
  }
}
