/** Times at which the server took no rows: it was stopped, killed or suspended, or its clock was set forward. */
import type { State, StateChange } from "../../../engine/index.ts";
import { aliveEveryMs, aliveGapMsMax, aliveMarkEveryMs, downtimeAgeMsMax, downtimesMax } from "../limits.ts";

interface AliveRecord {
  aliveMs: number;
  gaps: [fromMs: number, toMs: number][];
}

/** A sign of life outside the state: it survives the process at once, and a loss of power at some later time. */
export interface AliveMark {
  /** The newest sign of life in Unix milliseconds; undefined where there is none, or it is damaged. */
  read(): number | undefined;
  /** Does not throw: a mark that cannot be written lets more time count as downtime. */
  write(aliveMs: number): void;
}

const table = "alert-clock";
const id = "alive";

export class Downtime {
  readonly #state: State;
  readonly #mark: AliveMark | undefined;
  #gaps: AliveRecord["gaps"];
  #seenMs: number;
  #storedMs: number;
  #markedMs: number;
  #hasUnstoredGap = false;

  /**
   * Counts the time since the last sign of life, in the state or in the mark, as downtime. Without one in the state
   * there was no downtime. What is known of later times is dropped: they were those of a wrong clock.
   */
  constructor(state: State, nowMs: number, mark?: AliveMark) {
    this.#state = state;
    this.#mark = mark;
    const known = state.get(table, id) as unknown as AliveRecord | undefined;
    this.#gaps = (known?.gaps ?? []).map(([fromMs, toMs]) => [fromMs, toMs]);
    this.#seenMs = nowMs;
    this.#storedMs = Number.NEGATIVE_INFINITY;
    this.#markedMs = Number.NEGATIVE_INFINITY;
    if (known === undefined) return;
    this.#cutAfter(nowMs);
    const aliveMs = Math.max(known.aliveMs, mark?.read() ?? Number.NEGATIVE_INFINITY);
    if (aliveMs < nowMs) this.#add(aliveMs, nowMs);
  }

  /**
   * Records that the server is alive. A gap of more than `aliveGapMsMax` since the last call is downtime. Where the clock
   * has gone back, a downtime ends now at the latest. The record is stored after a change of the downtimes, and else
   * every `aliveEveryMs`; the mark is written every `aliveMarkEveryMs`.
   */
  async recordAlive(nowMs: number): Promise<void> {
    this.#cutAfter(nowMs);
    if (nowMs - this.#seenMs > aliveGapMsMax) this.#add(this.#seenMs, nowMs);
    this.#seenMs = nowMs;
    if (Math.abs(nowMs - this.#storedMs) >= aliveEveryMs) await this.#store(nowMs);
    if (Math.abs(nowMs - this.#markedMs) >= aliveMarkEveryMs) this.#writeMark(nowMs);
  }

  /** Records a shutdown in good order: the downtime begins at `nowMs`. A full disk has room for the mark at least. */
  async recordStop(nowMs: number): Promise<void> {
    this.#writeMark(nowMs);
    await this.#store(nowMs);
  }

  /** The downtimes that overlap a range, in their order. None is later than the newest sign of life. */
  within(fromMs: number, toMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
    return this.#gaps.filter(([from, to]) => from < toMs && to > fromMs);
  }

  #add(fromMs: number, toMs: number): void {
    this.#gaps.push([fromMs, toMs]);
    // Their age is that before the gap: a clock that is far ahead for a moment must not let them be forgotten.
    this.#gaps = this.#gaps.filter(([, to]) => fromMs - to < downtimeAgeMsMax).slice(-downtimesMax);
    this.#storedMs = Number.NEGATIVE_INFINITY;
    this.#hasUnstoredGap = true;
  }

  /** The server is alive at `nowMs`, so a downtime that reaches beyond was measured with a clock that was ahead. */
  #cutAfter(nowMs: number): void {
    if (this.#gaps.every(([, toMs]) => toMs <= nowMs)) return;
    this.#gaps = this.#gaps
      .filter(([fromMs]) => fromMs < nowMs)
      .map(([fromMs, toMs]) => [fromMs, Math.min(toMs, nowMs)]);
    this.#storedMs = Number.NEGATIVE_INFINITY;
  }

  #writeMark(nowMs: number): void {
    // A mark that is newer than a gap would hide the gap from a start that finds no record of it.
    if (this.#hasUnstoredGap) return;
    this.#markedMs = nowMs;
    this.#mark?.write(nowMs);
  }

  async #store(nowMs: number): Promise<void> {
    this.#storedMs = nowMs;
    const change: StateChange = { table, id, value: { aliveMs: nowMs, gaps: this.#gaps } };
    await this.#state.write([change]);
    this.#hasUnstoredGap = false;
  }
}
