/** Fetches the ingestion rules of the cluster from the hub, until they are there. */

import type { ExclusionRule } from "../../model/exclusion.ts";
import { pause } from "../cluster/pause.ts";
import { type HubClient, HubError } from "./hub-client.ts";
import { retryMsMax, retryMsMin, rulesMs } from "./limits.ts";

export interface RuleUpdatesOptions {
  hub: Pick<HubClient, "ingestionRules">;
  /** Called with rules that differ from the last ones. */
  onRules: (rules: readonly ExclusionRule[]) => void;
  log: (message: string) => void;
}

export class RuleUpdates {
  readonly #options: RuleUpdatesOptions;
  readonly #ending = new AbortController();
  #revision: string | undefined;
  #count = 0;
  #fetching: Promise<void> | undefined;

  constructor(options: RuleUpdatesOptions) {
    this.#options = options;
  }

  /** How many rules are in force. */
  get count(): number {
    return this.#count;
  }

  /** Fetches the rules; where a fetch is on its way, after it. */
  fetch(): void {
    this.#fetching = (this.#fetching ?? Promise.resolve()).then(() => this.#fetch());
  }

  /** Asks for rules at intervals: for a process that the hub does not tell of changes. */
  async poll(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      await this.#fetch();
      await pause(rulesMs * (0.75 + Math.random() / 2), this.#ending.signal);
    }
  }

  close(): void {
    this.#ending.abort();
  }

  async #fetch(): Promise<void> {
    const { hub, onRules, log } = this.#options;
    for (
      let pauseMs = retryMsMin;
      !this.#ending.signal.aborted;
      pauseMs = Math.min(retryMsMax, pauseMs * 2)
    ) {
      try {
        const { revision, rules } = await hub.ingestionRules();
        if (revision === this.#revision) return;
        this.#revision = revision;
        this.#count = rules.length;
        // The hub has chosen those of this cluster already.
        const sent = rules as (ExclusionRule & { cluster?: string })[];
        return onRules(sent.map(({ cluster: _, ...rule }) => rule));
      } catch (error) {
        if (!(error instanceof HubError)) throw error;
        if (pauseMs === retryMsMin) log(`the ingestion rules could not be read: ${error.message}`);
        await pause(pauseMs, this.#ending.signal);
      }
    }
  }
}
