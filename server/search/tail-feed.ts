/** The rows of one signal as they arrive, read once for all tails: those that ask for the same share even the answer. */

import { setTimeout as delay } from "node:timers/promises";
import { type Arrived, Failure, type QueryLimits, type Step, type Store } from "../../engine/index.ts";
import { tailRoundMs, tailRoundRowsMax } from "./limits.ts";
import type { TailSignal } from "./tail-events.ts";
import { type Slice, slicesOf } from "./tail-events.ts";

/** The part of a store that tails read. */
export type ArrivalStore = Pick<Store, "arrived" | "arrivalMax" | "onArrival">;

/** What a tail asks for. Equal keys: the same rows. */
export interface TailSelection {
  signal: TailSignal;
  fromNs: bigint;
  steps: Step[];
  key: string;
}

export interface FeedMember {
  readonly selection: TailSelection;
  /** Every matching row that arrived up to here was given to it. */
  readonly after: number;
  /** Whether it has no room: then rows are only counted. */
  readonly isMissing: boolean;
  /** Takes what was found behind `after`, `count` rows: their slices, or none where they were counted. */
  give(found: { slices: readonly Slice[] | null; count: number; through: number }): void;
  fail(message: string): void;
}

interface Group {
  selection: TailSelection;
  members: Set<FeedMember>;
}

export interface TailFeedOptions {
  store: ArrivalStore;
  signal: TailSignal;
  limits: QueryLimits;
}

export class TailFeed {
  readonly #options: TailFeedOptions;
  readonly #groups = new Map<string, Group>();
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  /** Rows up to here are given, or are being read. */
  #claimed = 0;
  #isRunning = false;

  constructor(options: TailFeedOptions) {
    this.#options = options;
    this.#stopListening = options.store.onArrival(() => this.#wake());
  }

  /** Arrived rows that were not looked at yet. */
  get lag(): number {
    return this.#groups.size === 0 ? 0 : this.#options.store.arrivalMax - this.#claimed;
  }

  /** False where rows behind its `after` were given out already, or are very many: it must catch up first. */
  join(member: FeedMember): boolean {
    if (this.#options.store.arrivalMax - member.after > tailRoundRowsMax) return false;
    if (this.#groups.size === 0 && !this.#isRunning) this.#claimed = member.after;
    if (member.after < this.#claimed) return false;
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
    void this.#run().finally(() => {
      this.#isRunning = false;
      if (!this.#closing.signal.aborted) this.#wake();
    });
  }

  /** Rests as long as it has worked, so that searches and what comes in have their share of the machine. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (this.lag > 0 && !signal.aborted) {
      const begunMs = performance.now();
      await this.#round();
      const worked = performance.now() - begunMs;
      await delay(Math.max(tailRoundMs, worked), undefined, { signal }).catch(() => undefined);
    }
  }

  async #round(): Promise<void> {
    const after = this.#claimed;
    const members = [...this.#groups.values()].flatMap((group) => [...group.members]);
    // A round ends where a member begins, so that everyone gets whole rounds.
    const ends = members.map((member) => member.after).filter((each) => each > after);
    const through = Math.min(this.#options.store.arrivalMax, after + tailRoundRowsMax, ...ends);
    this.#claimed = through;
    const groups = [...this.#groups.values()].filter((group) => isAt(group, after));
    if (groups.length > 0) await this.#read(groups, after, through);
  }

  async #read(groups: readonly Group[], after: number, through: number): Promise<void> {
    const counted = groups.map(({ members }) => [...members].every(({ isMissing }) => isMissing));
    const found = await this.#ask(groups, counted, after, through);
    if (found === undefined) return;
    for (const [i, group] of groups.entries()) give(group, after, found[i]!, counted[i]!);
    for (const [i, group] of groups.entries()) {
      const { through: reached } = found[i]!;
      // More than one answer holds.
      if (reached < through) await this.#read([group], reached, through);
    }
  }

  /** Undefined where it could not be read; each tail whose query alone fails is told. */
  async #ask(
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
      if (groups.length === 1) fail(groups[0]!, error);
      else for (const group of groups) await this.#read([group], after, through);
      return undefined;
    }
  }
}

/** Whether some member waits for the rows behind `after`; others joined later on. */
function isAt({ members }: Group, after: number): boolean {
  for (const member of members) if (member.after === after) return true;
  return false;
}

function give(
  { members, selection }: Group,
  after: number,
  { rows, count, through }: Arrived,
  isCounted: boolean,
): void {
  const slices = isCounted ? null : slicesOf(rows, selection.signal);
  for (const member of members) {
    if (member.after === after) member.give({ slices, count, through });
  }
}

function fail({ members }: Group, error: unknown): void {
  const message = error instanceof Failure ? error.message : "an internal error";
  for (const member of [...members]) member.fail(message);
}
