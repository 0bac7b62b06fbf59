/**
 * Reads the arriving rows of one signal for all tails together. Tails with equal selections form a group and share one
 * answer. Reading goes in rounds over consecutive ranges of arrival numbers.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type Arrived, Failure, type QueryLimits, type Step, type Store } from "../../../engine/index.ts";
import { tailRoundMs, tailRoundRowsMax } from "../limits.ts";
import type { TailSignal } from "./tail-events.ts";
import { type Slice, slicesOf } from "./tail-events.ts";

/** The part of a store that tails read. */
export type ArrivalStore = Pick<Store, "arrived" | "arrivalMax" | "onArrival">;

/** What a tail selects. Selections with equal keys select the same rows. */
export interface TailSelection {
  signal: TailSignal;
  fromNs: bigint;
  steps: Step[];
  key: string;
}

/** A tail that gets its rows from the feed. */
export interface FeedMember {
  readonly selection: TailSelection;
  /** Arrival number up to which the tail has got every matching row. */
  readonly after: number;
  /** True while the tail's queue is full: then rows are only counted. */
  readonly isSkipping: boolean;
  /** Called with the `count` rows from `after` to `through`. `slices` is null where they were only counted. */
  deliver(found: { slices: readonly Slice[] | null; count: number; through: number }): void;
  fail(message: string): void;
}

/** Tails with equal selections. */
interface Group {
  selection: TailSelection;
  members: Set<FeedMember>;
}

export interface TailFeedOptions {
  store: ArrivalStore;
  signal: TailSignal;
  limits: QueryLimits;
}

/** The feed of one signal. */
export class TailFeed {
  readonly #options: TailFeedOptions;
  readonly #groups = new Map<string, Group>();
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  /** Arrival number up to which rows were delivered or are being read. */
  #readThrough = 0;
  #isRunning = false;

  constructor(options: TailFeedOptions) {
    this.#options = options;
    this.#stopListening = options.store.onArrival(() => this.#wake());
  }

  /** Number of arrived rows that were not read yet. */
  get lag(): number {
    return this.#groups.size === 0 ? 0 : this.#options.store.arrivalMax - this.#readThrough;
  }

  /**
   * Adds a tail. Returns false where rows after its position were delivered already, or where it is more than
   * `tailRoundRowsMax` rows behind: then the tail must catch up first.
   */
  join(member: FeedMember): boolean {
    if (this.#options.store.arrivalMax - member.after > tailRoundRowsMax) return false;
    if (this.#groups.size === 0 && !this.#isRunning) this.#readThrough = member.after;
    if (member.after < this.#readThrough) return false;
    const { selection } = member;
    const group = this.#groups.get(selection.key) ?? { selection, members: new Set() };
    group.members.add(member);
    this.#groups.set(selection.key, group);
    this.#wake();
    return true;
  }

  leave(member: FeedMember): void {
    const group = this.#groups.get(member.selection.key);
    if (group === undefined) return;
    group.members.delete(member);
    if (group.members.size === 0) this.#groups.delete(member.selection.key);
  }

  close(): void {
    this.#stopListening();
    this.#closing.abort();
  }

  #wake(): void {
    if (this.#isRunning || this.lag === 0) return;
    this.#isRunning = true;
    void this.#readRounds().finally(() => {
      this.#isRunning = false;
      if (!this.#closing.signal.aborted) this.#wake();
    });
  }

  /** Pauses after each round for as long as the round took: searches and ingestion get their share of the machine. */
  async #readRounds(): Promise<void> {
    const { signal } = this.#closing;
    while (this.lag > 0 && !signal.aborted) {
      const startedMs = performance.now();
      await this.#readRound();
      const workedMs = performance.now() - startedMs;
      await delay(Math.max(tailRoundMs, workedMs), undefined, { signal }).catch(() => undefined);
    }
  }

  async #readRound(): Promise<void> {
    const after = this.#readThrough;
    const members = [...this.#groups.values()].flatMap((group) => [...group.members]);
    // A round ends at the next position of a member, so that no member joins in the middle of a round.
    const ends = members.map((member) => member.after).filter((each) => each > after);
    const through = Math.min(this.#options.store.arrivalMax, after + tailRoundRowsMax, ...ends);
    this.#readThrough = through;
    const groups = [...this.#groups.values()].filter((group) => hasMemberAt(group, after));
    if (groups.length > 0) await this.#readGroups(groups, after, through);
  }

  async #readGroups(groups: readonly Group[], after: number, through: number): Promise<void> {
    const areCountsOnly = groups.map(({ members }) => [...members].every(({ isSkipping }) => isSkipping));
    const found = await this.#queryArrivals(groups, areCountsOnly, after, through);
    if (found === undefined) return;
    for (const [i, group] of groups.entries()) deliverToGroup(group, after, found[i]!, areCountsOnly[i]!);
    for (const [i, group] of groups.entries()) {
      const { through: answeredThrough } = found[i]!;
      // The answer did not hold all rows of the range: the rest is read next.
      if (answeredThrough < through) await this.#readGroups([group], answeredThrough, through);
    }
  }

  /**
   * Reads a range for several groups at once. After an error it reads each group alone, ends the tails of each group
   * whose own read fails, and returns undefined.
   */
  async #queryArrivals(
    groups: readonly Group[],
    counted: readonly boolean[],
    after: number,
    through: number,
  ): Promise<Arrived[] | undefined> {
    const { store, signal, limits } = this.#options;
    const selections = groups.map(({ selection: { steps, fromNs } }, i) => {
      return { steps, fromNs, rowsMax: counted[i] ? 0 : tailRoundRowsMax };
    });
    try {
      const abort = this.#closing.signal;
      return await store.arrived({ signal, after, through, selections }, { ...limits, abort });
    } catch (error) {
      if (this.#closing.signal.aborted) return undefined;
      if (groups.length === 1) failGroup(groups[0]!, error);
      else for (const group of groups) await this.#readGroups([group], after, through);
      return undefined;
    }
  }
}

/** Returns whether a member needs the rows after `after`. Members with a later position need only later rows. */
function hasMemberAt({ members }: Group, after: number): boolean {
  for (const member of members) if (member.after === after) return true;
  return false;
}

function deliverToGroup(
  { members, selection }: Group,
  after: number,
  { rows, count, through }: Arrived,
  isCountOnly: boolean,
): void {
  const slices = isCountOnly ? null : slicesOf(rows, selection.signal);
  for (const member of members) {
    if (member.after === after) member.deliver({ slices, count, through });
  }
}

function failGroup({ members }: Group, error: unknown): void {
  const message = error instanceof Failure ? error.message : "an internal error";
  for (const member of [...members]) member.fail(message);
}
