/** The agent of one node: tails the logs of its containers and reads its kubelet's metrics. */

import { pause } from "../cluster/pause.ts";
import type { TailCounts } from "./container-folder.ts";
import { KubeletScraper, type KubeletScraperOptions, type ScrapeCounts } from "./kubelet-scraper.ts";
import { closeMs } from "./limits.ts";
import { LogTail, type LogTailOptions } from "./log-tail.ts";

export interface NodeAgentOptions {
  logs: LogTailOptions;
  /** Absent where no metrics are read. */
  kubelet?: KubeletScraperOptions | undefined;
}

export class NodeAgent {
  readonly #tail: LogTail;
  readonly #scraper: KubeletScraper | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor({ logs, kubelet }: NodeAgentOptions) {
    this.#tail = new LogTail(logs);
    this.#scraper = kubelet && new KubeletScraper(kubelet);
  }

  /** Counters and gauges, for the metrics of the process. */
  get counts(): { logs: Readonly<TailCounts>; kubelet: Readonly<ScrapeCounts> | undefined } {
    return { logs: this.#tail.counts, kubelet: this.#scraper?.counts };
  }

  /** Runs until `close`. Rejects where the folder of positions cannot be used. */
  async run(): Promise<void> {
    const tailing = this.#tail.run().finally(() => this.#scraper?.close());
    this.#running = Promise.allSettled([tailing, this.#scraper?.run()]);
    await this.#running;
    await tailing;
  }

  /**
   * Ends `run`. Waits a moment for the batch that is on its way; where it is not acknowledged by then, the next start
   * sends it again under the same key.
   */
  async close(): Promise<void> {
    this.#tail.close();
    this.#scraper?.close();
    const waited = new AbortController();
    await Promise.race([this.#running, pause(closeMs, waited.signal)]);
    waited.abort();
  }
}
