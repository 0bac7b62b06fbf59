/** Investigates fires whose alerts ask for it: each fire once, fires of one cause together, and a bounded number at once. */

import type { State } from "../../engine/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import type { InvestigationRequests } from "../alerts/investigation-requests.ts";
import type { Fire } from "../alerts/state/fire.ts";
import type { Caller } from "../model/caller.ts";
import type { StoredInvestigation } from "../model/investigation.ts";
import { stableId } from "../model/stable-id.ts";
import type { Outbox } from "../notify/outbox.ts";
import { makeCompletedEvents } from "./completed-events.ts";
import { dueMsOf, windowOfFires } from "./incident-window.ts";
import type { InvestigateFires } from "./investigate.ts";
import type { InvestigationRecords, OwnedInvestigation } from "./records.ts";

export interface FireInvestigatorOptions {
  state: State;
  records: InvestigationRecords;
  requests: InvestigationRequests;
  outbox: Pick<Outbox, "prepare">;
  /** A stored fire. */
  fireOf(alertId: string, fireId: string): Fire | undefined;
  /** Who saved an alert; undefined where it was deleted. */
  saverOf(alertId: string): Caller | undefined;
  /** Whether both read the same rows, whatever the rules say. */
  readsSame(one: Caller, other: Caller): boolean;
  /** The store as an alert that the caller saved may read it. Throws an Error for people where access was lost. */
  storeFor(caller: Caller): SearchableStore;
  investigate: InvestigateFires;
  /** The wall clock, Unix milliseconds. */
  now: () => number;
  log: (level: "warn" | "error", message: string) => void;
}

/** Investigations of fires that run at once: scan threads are few, and people's searches need them, too. */
const runningMax = 2;
/** Fires that are explained together began within this time. */
const togetherMs = 10 * 60_000;
/** Fires of one investigation: more, of a storm, take further ones. It is stored with all of them. */
const firesMax = 1_000;
const deadlineMs = 60_000;
/** The longest wait until requests are looked at again. */
const lookEveryMs = 5_000;

/** A fire that waits. */
interface Waiting {
  fire: Fire;
  owner: Caller;
}

export class FireInvestigator {
  readonly #options: FireInvestigatorOptions;
  readonly #running = new Set<Promise<void>>();
  /** Ids of the fires that are being investigated. */
  readonly #taken = new Set<string>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FireInvestigatorOptions) {
    this.#options = options;
  }

  run(): void {
    this.#options.requests.onStored(() => this.#schedule(0));
    this.#schedule(0);
  }

  /** Ends what runs. It begins again after the next start. */
  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await Promise.all(this.#running);
  }

  /** Fires that wait for an investigation or have one now. */
  get waiting(): number {
    return this.#options.requests.list().length;
  }

  #schedule(waitMs: number): void {
    if (this.#stopping.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#startDue(), waitMs);
  }

  #startDue(): void {
    while (this.#running.size < runningMax) {
      const together = this.#nextDue();
      if (together === undefined) break;
      const ids = together.map(({ fire }) => fire.id);
      for (const id of ids) this.#taken.add(id);
      const work = this.#finish(together)
        .catch((error: unknown) => this.#options.log("error", `investigations: ${String(error)}`))
        .finally(() => {
          for (const id of ids) this.#taken.delete(id);
          this.#running.delete(work);
          this.#schedule(this.#stopping.signal.aborted ? lookEveryMs : 0);
        });
      this.#running.add(work);
    }
    this.#schedule(lookEveryMs);
  }

  /** The oldest fire that is due, with the others that may have its cause; none while such others are investigated. */
  #nextDue(): Waiting[] | undefined {
    const nowMs = this.#options.now();
    const waiting = this.#listWaiting();
    // Thousands may wait: each is compared with those that are being investigated alone, and mostly with few of them.
    const taken = waiting.filter(({ fire }) => this.#taken.has(fire.id));
    const first = waiting.find(
      (each) =>
        !this.#taken.has(each.fire.id) &&
        dueMsOf(each.fire) <= nowMs &&
        !taken.some((other) => this.#mayShareCause(each, other)),
    );
    if (first === undefined) return undefined;
    const others = waiting.filter((each) => each !== first && this.#mayShareCause(first, each));
    return [first, ...others].slice(0, firesMax);
  }

  #mayShareCause(one: Waiting, other: Waiting): boolean {
    if (Math.abs(one.fire.firedAtMs - other.fire.firedAtMs) > togetherMs) return false;
    return this.#options.readsSame(one.owner, other.owner);
  }

  #listWaiting(): Waiting[] {
    const { requests, fireOf, saverOf } = this.#options;
    const lost: string[] = [];
    const found = requests.list().flatMap(({ alertId, fireId }): Waiting[] => {
      const [fire, owner] = [fireOf(alertId, fireId), saverOf(alertId)];
      if (fire !== undefined && owner !== undefined) return [{ fire, owner }];
      lost.push(fireId);
      return [];
    });
    // Nobody is left who asks: the alert was deleted.
    if (lost.length > 0)
      this.#options.state
        .write(requests.removal(lost))
        .catch((error: unknown) => this.#options.log("error", `investigations: ${String(error)}`));
    return found;
  }

  /** Investigates fires, and stores the result, the messages about it and the end of the requests, all or nothing. */
  async #finish(together: readonly Waiting[]): Promise<void> {
    const { requests, records, outbox, state } = this.#options;
    const owned = this.#findExplanation(together) ?? (await this.#investigate(together));
    if (owned === undefined) return;
    const fires = together.map(({ fire }) => this.#options.fireOf(fire.alertId, fire.id) ?? fire);
    const earlier = owned.investigation.fires.slice(0, -fires.length).flatMap(({ alertId, fireId }) => {
      return this.#options.fireOf(alertId, fireId) ?? [];
    });
    const messages = makeCompletedEvents(owned.investigation, fires, earlier);
    const prepared = outbox.prepare({ messages });
    await state.write([
      ...records.changes(owned),
      ...requests.removal(fires.map(({ id }) => id)),
      ...prepared.changes,
    ]);
    prepared.stored();
  }

  /** An investigation that has named the cause of what these fires may belong to; they become its fires, too. */
  #findExplanation(together: readonly Waiting[]): OwnedInvestigation | undefined {
    const { fire, owner } = together[0]!;
    const known = this.#options.records.list().find(({ investigation, owner: other }) => {
      const { answer, fires, endTime, startTime } = investigation;
      if (answer?.verdict !== "cause" || fires.length === 0) return false;
      if (fires.length + together.length > firesMax) return false;
      if (fire.firedAtMs < startTime || fire.firedAtMs > endTime + togetherMs) return false;
      return this.#options.readsSame(owner, other);
    });
    if (known === undefined) return undefined;
    const { investigation } = known;
    return {
      ...known,
      investigation: { ...investigation, fires: [...investigation.fires, ...together.map(describe)] },
    };
  }

  /** Undefined where the server stops. */
  async #investigate(together: readonly Waiting[]): Promise<OwnedInvestigation | undefined> {
    const { now, storeFor, investigate } = this.#options;
    const { owner, fire: first } = together[0]!;
    const { startMs, endMs } = windowOfFires(
      together.map(({ fire }) => fire),
      now(),
    );
    const base: StoredInvestigation = {
      id: stableId("investigation", first.id),
      ...{ status: "completed", startTime: startMs, endTime: endMs - 1, createdAt: now(), completedAt: null },
      ...{ by: null, traceId: null, query: null, fires: together.map(describe) },
      ...{ problem: null, answer: null, feedback: null },
    };
    try {
      const limits = { deadlineMs, abort: this.#stopping.signal };
      const whole = { startMs, endMs };
      const { window, answer } = await investigate(storeFor(owner), whole, limits);
      const investigation = { ...base, startTime: window.startMs, completedAt: now(), answer };
      return { investigation, owner };
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined;
      const problem = (error as Error).message;
      return { investigation: { ...base, status: "failed", completedAt: now(), problem }, owner };
    }
  }
}

function describe({ fire }: Waiting): StoredInvestigation["fires"][number] {
  const { id: fireId, alertId, alertName, rule, labels, firedAtMs: firedAt } = fire;
  return { fireId, alertId, alertName, rule, labels, firedAt };
}
