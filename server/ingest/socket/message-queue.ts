/** Messages of a protocol without answers, which wait to be stored in batches. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Counter, Metrics } from "../../metrics/metrics.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { DecoderFault } from "../decode-pool.ts";
import type { BodyFormat } from "../decode-task.ts";
import type { Intake } from "../intake.ts";
import {
  syslogBatchBytesMax,
  syslogBatchMs,
  syslogMessageOverhead,
  syslogWaitingBytesMax,
} from "../limits.ts";

/** A protocol whose senders get no answers and show no token. */
export interface UnansweredProtocol {
  /** In metrics, and as the sender whose limits hold. */
  name: "syslog" | "gelf";
  /** In errors and descriptions. */
  title: string;
  /** The format of a body of its messages, each with its length before it. */
  format: BodyFormat;
}

export interface QueueOptions {
  protocol: UnansweredProtocol;
  /** What messages may take: half of it those that wait, half those that are incomplete. */
  bytesHeldMax: number;
  intake: Intake;
  metrics: Metrics;
  log: (message: string) => void;
}

const retryMs = 1_000;

/** Messages that wait to be stored, in the order of arrival. */
export class MessageQueue {
  readonly #options: QueueOptions;
  readonly #dropped: Counter;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Memory of the messages that wait or are being stored. */
  #bytesHeld = 0;
  #storing: Promise<void> | undefined;
  #isClosing = false;
  #onRoom: (() => void)[] = [];

  constructor(options: QueueOptions) {
    this.#options = options;
    const { name, title } = options.protocol;
    this.#dropped = options.metrics.counter(
      `svc_${name}_dropped_messages_total`,
      `Messages of ${title} that were dropped: over UDP while there was no room for them (full), beyond what ${title} may send (limit), or since they cannot be read (unreadable).`,
    );
    const help = `Memory of messages of ${title} that wait to be stored.`;
    options.metrics.gauge(`svc_${name}_waiting_bytes`, help, () => this.#bytesHeld);
    for (const reason of ["full", "limit", "unreadable"]) this.#dropped.add(0, { reason });
  }

  get isFull(): boolean {
    return this.#bytesHeld >= Math.min(syslogWaitingBytesMax, this.#options.bytesHeldMax / 2);
  }

  /** Resolves once there is room. */
  room(): Promise<void> {
    return this.isFull ? new Promise((resolve) => this.#onRoom.push(resolve)) : Promise.resolve();
  }

  add(messages: readonly Buffer[]): void {
    for (const message of messages) {
      this.#parts.push(Buffer.from(`${message.length} `, "latin1"), message);
      this.#bytes += message.length;
      this.#bytesHeld += message.length + syslogMessageOverhead;
    }
    if (this.#parts.length > 0) this.#storing ??= this.#store();
  }

  drop(): void {
    this.#dropped.add(1, { reason: "full" });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#storing;
  }

  /** Stores until the queue is empty. Retries while the store takes nothing, until the listener closes. */
  async #store(): Promise<void> {
    while (this.#parts.length > 0) {
      if (this.#bytes < syslogBatchBytesMax && !this.#isClosing) await sleep(syslogBatchMs);
      const parts = this.#parts;
      const held = this.#bytesHeld;
      this.#parts = [];
      this.#bytes = 0;
      while (!(await this.#take(parts)) && !this.#isClosing) await sleep(retryMs);
      this.#bytesHeld -= held;
      for (const resolve of this.#onRoom.splice(0)) resolve();
    }
    this.#storing = undefined;
  }

  /**
   * Takes messages that cannot be read together: one of them is at fault, which would be refused again and again. It is
   * dropped, and the others are stored.
   */
  async #takeHalves(parts: readonly Buffer[]): Promise<boolean> {
    const messages = parts.length / 2;
    if (messages === 1) {
      this.#dropped.add(1, { reason: "unreadable" });
      return true;
    }
    const middle = 2 * Math.floor(messages / 2);
    for (const half of [parts.slice(0, middle), parts.slice(middle)]) {
      while (!(await this.#take(half)) && !this.#isClosing) await sleep(retryMs);
    }
    return true;
  }

  async #take(parts: readonly Buffer[]): Promise<boolean> {
    const { protocol, intake } = this.#options;
    try {
      await intake.take({
        signal: "logs",
        format: protocol.format,
        body: new Uint8Array(Buffer.concat(parts)),
        encoding: "identity",
        sender: protocol.name,
        environment: null,
        key: null,
      });
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.status === 429) {
        this.#dropped.add(parts.length / 2, { reason: "limit" });
        return true;
      }
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log(`${protocol.title} cannot be stored: ${reason}`);
      const isFinal = error instanceof Refusal ? error.status < 500 : error instanceof DecoderFault;
      return isFinal ? this.#takeHalves(parts) : false;
    }
  }
}
