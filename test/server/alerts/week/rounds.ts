/** The looks that the server takes every few seconds, beside its evaluations: at alerts that are not judged, and at fires that go on. */
import { expect } from "vitest";
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
  readonly #stored: string[] = [];
  #look: Look = { do: "looked", isStored: true, storedOnly: null };

  constructor(options: RoundsOptions) {
    this.#options = options;
    const { evaluator, now, log, outbox, actionsFor, silencedBy, routeOf } = options;
    this.lookedMs = options.elapsed();
    this.#health = new HealthWatch({
      ...{ now, log, outbox, actionsFor },
      state: this.#noting((isStored) => {
        this.#look.isStored = isStored;
      }),
      alerts: () => {
        this.#begin();
        return evaluator.watched();
      },
    });
    this.#repeats = new Repeats({
      ...{ now, log, outbox, silencedBy, routeOf, records: evaluator.records },
      state: this.#noting((isStored, alertIds) => {
        // Those after it are not tried any more.
        this.#look.storedOnly ??= new Set([...this.#stored, ...(isStored ? alertIds : [])]);
      }),
      inAlertTurn: async (alertId, act) => {
        await evaluator.inAlertTurn(alertId, act);
        this.#stored.push(alertId);
      },
    });
  }

  run(): void {
    this.#health.run();
    this.#repeats.run();
  }

  async close(): Promise<void> {
    // What a dead process was doing never ends, and must not keep the other from being closed.
    await Promise.all([this.#repeats.close(), this.#health.close()]);
  }

  /** The process died before the look was over: what it had not stored by then it never stores. */
  noteDeath(): void {
    this.#look.storedOnly ??= new Set(this.#stored);
  }

  /** Both look in the same moment, one after the other. */
  #begin(): void {
    const elapsedMs = this.#options.elapsed();
    expect(elapsedMs - this.lookedMs).toBeLessThanOrEqual(lookEveryMs);
    this.lookedMs = elapsedMs;
    this.#stored.length = 0;
    this.#look = { do: "looked", isStored: true, storedOnly: null };
    this.#options.onLook(this.#look);
  }

  /** A state that says which writes come to nothing, or are the last ones of their process. */
  #noting(onEnd: (isStored: boolean, alertIds: readonly string[]) => void): Process {
    const { state, elapsed, isFull, fate } = this.#options;
    const write: Process["write"] = (changes) => {
      expect(elapsed()).toBe(this.lookedMs);
      const wasAlive = state.isAlive;
      const writing = state.write(changes);
      const isStored = state.isAlive ? !isFull() : wasAlive && fate() === "dies after";
      const fires = changes.filter(({ table }) => table === "alert-fires");
      const alertIds = fires.map(({ value }) => (value as { alertId: string }).alertId);
      if (!isStored || !state.isAlive) onEnd(isStored, alertIds);
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
