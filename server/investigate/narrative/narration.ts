/** Adds what a language model writes to answers. A model that fails takes nothing away from them. */

import type { QueryLimits } from "../../../engine/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { Counter } from "../../metrics/metrics.ts";
import type { InvestigationAnswer } from "../../model/investigation.ts";
import type { IncidentWindow } from "../incident-window.ts";
import type { Investigate, InvestigateFires } from "../investigate.ts";
import type { Narrate } from "./narrator.ts";

interface NarrationOptions {
  narrate: Narrate;
  /** Narratives ended, by their result. */
  counter: Counter;
  log: (level: "warn" | "error", message: string) => void;
}

export class Narration {
  readonly #options: NarrationOptions;

  constructor(options: NarrationOptions) {
    this.#options = options;
  }

  of(investigate: Investigate): Investigate {
    return async (store, window, limits) => {
      const endMs = performance.now() + (limits?.deadlineMs ?? Number.POSITIVE_INFINITY);
      const answer = await investigate(store, window, limits);
      return await this.#tell(store, window, answer, limits, endMs);
    };
  }

  ofFires(investigate: InvestigateFires): InvestigateFires {
    return async (store, whole, limits) => {
      const endMs = performance.now() + (limits?.deadlineMs ?? Number.POSITIVE_INFINITY);
      const { window, answer } = await investigate(store, whole, limits);
      return { window, answer: await this.#tell(store, window, answer, limits, endMs) };
    };
  }

  /** `endMs`: when the deadline is over, by the clock of `performance.now`. */
  async #tell(
    store: SearchableStore,
    window: IncidentWindow,
    answer: InvestigationAnswer,
    limits: QueryLimits | undefined,
    endMs: number,
  ): Promise<InvestigationAnswer> {
    const { narrate, counter, log } = this.#options;
    // Without evidence there is nothing to write about.
    if (answer.suspects.length === 0) return answer;
    try {
      const deadlineMs = endMs - performance.now();
      const told = await narrate(store, window, answer, {
        ...limits,
        ...(Number.isFinite(deadlineMs) ? { deadlineMs: Math.max(0, deadlineMs) } : {}),
      });
      counter.add(1, { result: "written" });
      return { ...answer, ...told };
    } catch (error) {
      if (limits?.abort?.aborted === true) throw error;
      counter.add(1, { result: "failed" });
      const { name, message, cause } = error as Error;
      const problem = name === "TimeoutError" ? "the language model did not answer in time" : message;
      log("warn", `investigations: ${problem}${cause instanceof Error ? ` (${cause.message})` : ""}`);
      return answer;
    }
  }
}
