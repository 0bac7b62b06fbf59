/** Times at which the server took no rows: it was stopped, killed or suspended, or its clock was set forward. */
import type { State, StateChange } from "../../../engine/index.ts";
import { aliveEveryMs, aliveGapMsMax, downtimeAgeMsMax, downtimesMax } from "../limits.ts";

interface AliveRecord {
  aliveMs: number;
  gaps: [fromMs: number, toMs: number][];
}

const table = "alert-clock";
const id = "alive";

export class Downtime {
  readonly #state: State;
  #gaps: AliveRecord["gaps"];
  #seenMs: number;
  #storedMs: number;

  /** Counts the time since the last stored sign of life as downtime. Without one, there was no downtime. */
  constructor(state: State, nowMs: number) {
    this.#state = state;
    const known = state.get(table, id) as unknown as AliveRecord | undefined;
    this.#gaps = (known?.gaps ?? []).map(([fromMs, toMs]) => [fromMs, toMs]);
    this.#seenMs = nowMs;
    this.#storedMs = Number.NEGATIVE_INFINITY;
    if (known !== undefined && known.aliveMs < nowMs) this.#add(known.aliveMs, nowMs);
  }

  /**
   * Records that the server is alive. A gap of more than `aliveGapMsMax` since the last call is downtime. The record is
   * stored after a gap, and else every `aliveEveryMs`.
   */
  async recordAlive(nowMs: number): Promise<void> {
    if (nowMs - this.#seenMs > aliveGapMsMax) this.#add(this.#seenMs, nowMs);
    this.#seenMs = nowMs;
    if (Math.abs(nowMs - this.#storedMs) >= aliveEveryMs) await this.#store(nowMs);
  }

  /** Records a shutdown in good order: the downtime begins at `nowMs`. */
  async recordStop(nowMs: number): Promise<void> {
    await this.#store(nowMs);
  }

  /** Returns whether some downtime overlaps the range. */
  overlaps(fromMs: number, toMs: number): boolean {
    return this.#gaps.some(([from, to]) => from < toMs && to > fromMs);
  }

  #add(fromMs: number, toMs: number): void {
    this.#gaps.push([fromMs, toMs]);
    this.#gaps = this.#gaps.filter(([, to]) => toMs - to < downtimeAgeMsMax).slice(-downtimesMax);
    this.#storedMs = Number.NEGATIVE_INFINITY;
  }

  async #store(nowMs: number): Promise<void> {
    this.#storedMs = nowMs;
    const change: StateChange = { table, id, value: { aliveMs: nowMs, gaps: this.#gaps } };
    await this.#state.write([change]);
  }
}
