/** Sends one batch of logs after the other: writes it down, hands it to the sink until that takes it, and notes so. */

import { pause } from "../cluster/pause.ts";
import type { TailContext } from "./container-folder.ts";
import { describe } from "./container-folder.ts";
import { retryMsMax, retryMsMin } from "./limits.ts";
import type { BatchPlan, TailBatch } from "./log-batch.ts";
import type { Positions } from "./positions.ts";

/** Takes a batch: resolves when the rows are safe with the server, rejects where it should be sent again. */
export type LogSink = (batch: TailBatch) => Promise<void>;

export class BatchSender {
  readonly #context: TailContext;
  readonly #positions: Positions;
  readonly #sink: LogSink;
  readonly #signal: AbortSignal;
  #sending: Promise<void> | undefined;

  /** After `signal` a batch that fails is not sent again. */
  constructor(context: TailContext, positions: Positions, sink: LogSink, signal: AbortSignal) {
    this.#context = context;
    this.#positions = positions;
    this.#sink = sink;
    this.#signal = signal;
  }

  get isBusy(): boolean {
    return this.#sending !== undefined;
  }

  /** Resolves when no batch is on its way. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** Begins to send. No other batch may be on its way. `onAcknowledged` is called when the sink has taken it. */
  send(plan: BatchPlan, batch: TailBatch, onAcknowledged: () => void): void {
    this.#sending = this.#deliver(plan, batch, onAcknowledged).finally(() => {
      this.#sending = undefined;
    });
  }

  async #deliver(plan: BatchPlan, batch: TailBatch, onAcknowledged: () => void): Promise<void> {
    const { counts } = this.#context;
    if (this.#positions.sending?.key !== plan.key && !(await this.#retry(() => this.#positions.begin(plan))))
      return;
    if (batch.rows.length > 0 && !(await this.#retry(() => this.#sink(batch)))) return;
    if (!(await this.#retry(() => this.#positions.acknowledge()))) return;
    counts.batches++;
    counts.rows += batch.rows.length;
    onAcknowledged();
  }

  /** Tries until it succeeds; returns false where the agent closes before. */
  async #retry(act: () => Promise<void>): Promise<boolean> {
    for (let waitMs = retryMsMin; ; waitMs = Math.min(2 * waitMs, retryMsMax)) {
      try {
        await act();
        return true;
      } catch (error) {
        if (this.#signal.aborted) return false;
        this.#context.counts.retries++;
        this.#context.warn(`a batch of logs waits: ${describe(error)}`);
      }
      // Agents of all nodes would otherwise come back at the same moment.
      await pause(waitMs * (0.5 + Math.random() / 2), this.#signal);
      if (this.#signal.aborted) return false;
    }
  }
}
