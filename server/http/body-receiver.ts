/** Receives the body of a request as a whole, or in parts that are taken while the rest comes in. */

import type { BodyParts } from "../api/route.ts";
import { Refusal, tryLater } from "../throttle/refusal.ts";
import type { Budget } from "../throttle/shared-budget.ts";
import { BodyBlocks, type BodyMemory } from "./body-blocks.ts";
import { bodyReceiveMsMax } from "./limits.ts";

/** How a body is read. */
export interface BodyReading {
  /** Bytes of the body; of one in parts, the bytes that no part has taken. */
  bytesMax: number;
  /** Bytes of the whole body, where the client announced them. */
  announced: number | null;
  /** The part of the sender in the bytes of all bodies. */
  budget: Budget;
  /** Memory for a large body that is received as a whole; new memory by default. */
  memory?: BodyMemory | undefined;
  /** Absent: the body is received as a whole. */
  parts?: BodyParts | undefined;
}

interface ReceiverOptions extends BodyReading {
  /** Makes the client wait, or go on. */
  pause: (isPaused: boolean) => void;
  /** Called with the bytes that are held from now on; fewer than before where a part was taken. */
  onHeld: (bytes: number) => void;
  /** Resolves to what no part has taken, once the last byte is there. */
  resolve: (body: Uint8Array) => void;
  reject: (error: unknown) => void;
}

export class BodyReceiver {
  readonly #options: ReceiverOptions;
  readonly #blocks: BodyBlocks;
  /** Bytes from which on a part is taken. */
  #partBytes: number;
  readonly #timer: NodeJS.Timeout;
  /** Bytes that came while a part is being taken; undefined where none is. */
  #waiting: BodyBlocks | undefined;
  #isLast = false;
  #isSettled = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    const { parts, announced, memory } = options;
    this.#blocks = new BodyBlocks(parts === undefined ? announced : null, memory);
    this.#partBytes = options.parts?.bytes ?? Number.POSITIVE_INFINITY;
    this.#timer = setTimeout(() => {
      const within = `within ${bodyReceiveMsMax / 1000} s`;
      const isTaking = this.#waiting !== undefined;
      this.stop(
        isTaking
          ? tryLater(`the body was not taken ${within}`, 5)
          : new Refusal(408, `the body did not arrive ${within}`),
      );
    }, bodyReceiveMsMax);
  }

  /** Takes a chunk, whose memory may be freed afterwards. */
  add(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isSettled) return;
    const { budget, bytesMax } = this.#options;
    if (this.#held + chunk.byteLength > bytesMax) {
      this.stop(tooLarge(bytesMax));
      return;
    }
    if (!budget.take(chunk.byteLength)) {
      this.stop(tryLater("too much is being sent to the server just now; try again", 1));
      return;
    }
    (this.#waiting ?? this.#blocks).add(chunk);
    this.#options.onHeld(this.#held);
    this.#isLast ||= isLast;
    if (this.#waiting === undefined) this.#goOn();
  }

  /** Rejects, unless the whole body is there. */
  stop(error: unknown): void {
    if (!this.#settle()) return;
    this.#blocks.clear();
    // What still comes is discarded, and the client gets to read the answer.
    this.#options.pause(false);
    this.#options.reject(error);
  }

  get #held(): number {
    return this.#blocks.bytes + (this.#waiting?.bytes ?? 0);
  }

  #goOn(): void {
    if (this.#isLast) {
      if (this.#settle()) this.#options.resolve(this.#blocks.join());
    } else if (this.#blocks.bytes >= this.#partBytes) void this.#takePart(this.#options.parts!);
  }

  async #takePart({ bytes, take }: BodyParts): Promise<void> {
    const { pause, budget, onHeld } = this.#options;
    const waiting = new BodyBlocks();
    this.#waiting = waiting;
    pause(true);
    try {
      const received = this.#blocks.join();
      const taken = await take(received);
      if (this.#isSettled) return;
      this.#blocks.clear();
      for (const rest of [received.slice(taken), waiting.join()])
        if (rest.length > 0) this.#blocks.add(rest.buffer);
      this.#waiting = undefined;
      budget.give(taken);
      onHeld(this.#held);
      // A thing that is longer than a part: there is no use in looking at it again before it has grown.
      this.#partBytes = taken > 0 ? bytes : this.#blocks.bytes + bytes;
      if (taken > 0) this.#timer.refresh();
      pause(false);
      this.#goOn();
    } catch (error) {
      this.stop(error);
    }
  }

  /** Returns false where that was done before. */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    return true;
  }
}

export function tooLarge(bytesMax: number): Refusal {
  return new Refusal(413, `the body is larger than ${bytesMax} bytes: send it in smaller parts`);
}
