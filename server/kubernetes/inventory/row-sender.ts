/** Gathers rows of the inventory and hands them to the gateway, in their order. */

import { randomUUID } from "node:crypto";
import { pause } from "../cluster/pause.ts";
import type { RowBatch } from "../gateway/row-batch.ts";
import {
  batchLengthMax,
  batchRowsMax,
  gatherMs,
  retryMsMax,
  retryMsMin,
  waitingLengthMax,
} from "./limits.ts";
import type { ResourceRow } from "./resource-row.ts";

export interface RowSenderOptions {
  /** Throws where the rows should be sent again. */
  send: (batch: RowBatch) => Promise<void>;
  /** Called with rows that are at the hub, or on the disk. */
  onSent: (rows: readonly ResourceRow[]) => void;
  /** From 0 to 1. */
  random: () => number;
  log: (message: string) => void;
}

export class RowSender {
  readonly #options: RowSenderOptions;
  #waiting: ResourceRow[] = [];
  #waitingLength = 0;
  #dropped = 0;
  readonly #ending = new AbortController();
  #wake: () => void = () => undefined;
  #loop: Promise<void> | undefined;

  constructor(options: RowSenderOptions) {
    this.#options = options;
  }

  /** Rows that were dropped, since too much waited. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns false where too much waits already: then the row is dropped. */
  add(row: ResourceRow): boolean {
    if (this.#waitingLength + row.body.length > waitingLengthMax) {
      this.#dropped++;
      return false;
    }
    this.#waiting.push(row);
    this.#waitingLength += row.body.length;
    this.#wake();
    return true;
  }

  run(): void {
    this.#loop ??= this.#run();
  }

  /** Sends what waits, once: rows that are not taken now are given up, and the next start sends all objects. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#wake();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      if (this.#waiting.length === 0) await this.#filled();
      await pause(gatherMs, this.#ending.signal);
      while (this.#waiting.length > 0) await this.#send(this.#take());
    }
  }

  #take(): ResourceRow[] {
    let length = 0;
    const over = this.#waiting.findIndex((row, i) => {
      length += row.body.length;
      return i >= batchRowsMax || (i > 0 && length > batchLengthMax);
    });
    const rows = this.#waiting.splice(0, over < 0 ? this.#waiting.length : over);
    for (const { body } of rows) this.#waitingLength -= body.length;
    return rows;
  }

  async #send(rows: readonly ResourceRow[]): Promise<void> {
    const { send, onSent, log, random } = this.#options;
    const batch: RowBatch = { signal: "kubernetes_resources", key: `inventory-${randomUUID()}`, rows };
    for (let retryMs = retryMsMin; ; retryMs = Math.min(retryMsMax, 2 * retryMs)) {
      try {
        await send(batch);
        return onSent(rows);
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (retryMs === retryMsMin) log(`the inventory waits: ${(error as Error).message}`);
        await pause(retryMs * (0.5 + random() / 2), this.#ending.signal);
      }
    }
  }

  #filled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
