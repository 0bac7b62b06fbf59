/** The looks that the server takes every few seconds, beside its evaluations: at alerts that are not judged, and at fires that go on. */
import { expect } from "vitest";
import type { StateChange } from "../../../../engine/index.ts";
import type { Evaluator } from "../../../../server/alerts/evaluator.ts";
import { HealthWatch, type HealthWatchOptions } from "../../../../server/alerts/health-watch.ts";
import { Repeats, type RepeatsOptions } from "../../../../server/alerts/repeats.ts";
import type { Fate, Process } from "../disk.ts";
import { type Look, second } from "./plan.ts";

/** How often the server looks. */
export const lookEveryMs = 5 * second;

export interface RoundsOptions extends Pick<HealthWatchOptions, "now" | "log" | "outbox" | "actionsFor"> {
  state: Process;
  evaluator: Evaluator;
  silencedBy: RepeatsOptions["silencedBy"];
  routeOf: RepeatsOptions["routeOf"];
  /** Time that has passed, whatever the clock says. */
  elapsed: () => number;
  /** Whether a write of now is refused. */
  isFull: () => boolean;
  /** What becomes of the write in which the process is to die. */
  fate: () => Fate;
  onLook: (look: Look) => void;
}

export class Rounds {
  lookedMs: number;
  readonly #options: RoundsOptions;
  readonly #health: HealthWatch;
  readonly #repeats: Repeats;
  #look: Look = { do: "looked", isStored: true, lost: new Set() };

  constructor(options: RoundsOptions) {
    this.#options = options;
    const { evaluator, now, log, outbox, actionsFor, silencedBy, routeOf } = options;
    this.lookedMs = options.elapsed();
    this.#health = new HealthWatch({
      ...{ now, log, outbox, actionsFor },
      state: this.#noting(() => {
        this.#look.isStored = false;
      }),
      alerts: () => {
        this.#begin();
        return evaluator.watched();
      },
    });
    this.#repeats = new Repeats({
      ...{ now, log, outbox, silencedBy, routeOf, records: evaluator.records },
      state: this.#noting((changes) => {
        for (const { table, value } of changes)
          if (table === "alert-fires") this.#look.lost.add((value as { alertId: string }).alertId);
      }),
      inAlertTurn: (alertId, act) => evaluator.inAlertTurn(alertId, act),
    });
  }

  run(): void {
    this.#health.run();
    this.#repeats.run();
  }

  async close(): Promise<void> {
    await this.#repeats.close();
    await this.#health.close();
  }

  /** Both look in the same moment, one behind the other. */
  #begin(): void {
    const elapsedMs = this.#options.elapsed();
    expect(elapsedMs - this.lookedMs).toBeLessThanOrEqual(lookEveryMs);
    this.lookedMs = elapsedMs;
    this.#look = { do: "looked", isStored: true, lost: new Set() };
    this.#options.onLook(this.#look);
  }

  /** A state that says which writes come to nothing: then it is as though what they store had not been seen. */
  #noting(onLost: (changes: readonly StateChange[]) => void): Process {
    const { state, elapsed, isFull, fate } = this.#options;
    const write: Process["write"] = (changes) => {
      expect(elapsed()).toBe(this.lookedMs);
      const wasAlive = state.isAlive;
      const writing = state.write(changes);
      const isStored = state.isAlive ? !isFull() : wasAlive && fate() === "dies after";
      if (!isStored) onLost(changes);
      return writing;
    };
    return new Proxy(state, {
      get: (_, name) => {
        if (name === "write") return write;
        const value = Reflect.get(state, name, state);
        return typeof value === "function" ? value.bind(state) : value;
      },
    });
  }
}
