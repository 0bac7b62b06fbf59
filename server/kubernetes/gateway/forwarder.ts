/** Sends what the disk buffer holds to the hub, oldest first, until the hub has it. */

import { setTimeout as sleep } from "node:timers/promises";
import type { OutgoingBody } from "./buffer-entry.ts";
import type { DiskBuffer } from "./disk-buffer.ts";
import type { HubOutcome } from "./hub-sender.ts";
import { forwardMsMax, retryMsFirst, retryMsMax } from "./limits.ts";

export interface ForwarderOptions {
  buffer: DiskBuffer;
  send: (body: OutgoingBody, timeoutMs: number) => Promise<HubOutcome>;
  /** Called with each outcome of a body from the buffer. */
  onOutcome: (outcome: HubOutcome, body: OutgoingBody) => void;
  /** From 0 to 1. */
  random: () => number;
  /** Replaces the waits of `limits.ts`. */
  retryMs?: { first: number; max: number };
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  run(): void {
    this.#running ??= this.#forward();
  }

  /** Waits for the body that is being sent, up to its deadline. */
  async close(): Promise<void> {
    this.#abort.abort();
    this.#options.buffer.wake();
    await this.#running;
  }

  async #forward(): Promise<void> {
    const { buffer, send, onOutcome } = this.#options;
    const { signal } = this.#abort;
    let tries = 0;
    while (!signal.aborted) {
      await buffer.filled();
      if (signal.aborted) return;
      const body = await buffer.peek();
      if (body === undefined) continue;
      const outcome = await send(body, forwardMsMax);
      onOutcome(outcome, body);
      if (outcome.kind !== "retry") {
        tries = 0;
        await buffer.take();
        continue;
      }
      buffer.leave();
      const waitMs = Math.max(this.#backOffMs(tries++), outcome.afterMs);
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Random below a bound that doubles, so that the exporters of many clusters do not return at once. */
  #backOffMs(tries: number): number {
    const { first, max } = this.#options.retryMs ?? { first: retryMsFirst, max: retryMsMax };
    return Math.min(max, first * 2 ** Math.min(tries, 20)) * (0.5 + this.#options.random() / 2);
  }
}
