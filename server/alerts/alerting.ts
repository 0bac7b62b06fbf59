/** The alerts of one server: what is configured is evaluated over its store. */
import { setImmediate, setTimeout as setTimeoutAsync } from "node:timers/promises";
import type { State, Store } from "../../engine/index.ts";
import { queryTimeseries, type SeriesStore } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import type { AlertEvent } from "../model/event.ts";
import { Evaluator } from "./evaluator.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { investigationRequests } from "./investigation-requests.ts";
import { defaultDelayMs } from "./limits.ts";
import { QueryPlans } from "./query/query-shape.ts";
import { SharedScans } from "./query/shared-scans.ts";
import { withId } from "./state/alert-definition.ts";

/** What is configured, as it is now. */
interface AlertSources {
  /** The same list until one of them changes. The revision is another one whenever the alert is; queries have the rights of whoever saved it last. */
  alerts: () => readonly (readonly [
    id: string,
    stored: { value: Alert; revision: string; updatedBy: Caller },
  ])[];
  alertCount: () => number;
}

export interface AlertingOptions {
  store: Store;
  state: State;
  sources: AlertSources;
  /** Whoever hears of fires. */
  subscribers: readonly FireSubscriber[];
  /** The id of the silence that covers an instance of an alert now. */
  silencedBy: (instance: Pick<AlertEvent, "alertId" | "labels">) => string | undefined;
  metrics: Metrics;
  now: () => number;
  /** The store as whoever saved an alert sees it now. Throws an Error for people where access was lost, and so do its reads. */
  storeFor: (store: SearchableStore, caller: Caller) => SeriesStore;
  queryMemoryBytes: number;
  log: (level: "warn" | "error", message: string) => void;
}

/** What is configured anew is taken up this soon. */
const syncEveryMs = 500;
/** So many alerts are taken up before a start is over, unless that goes on for so long. */
const alertsAwaitedMax = 1_000;
const beginMsMax = 100;
/** Taking up alerts, which plans their queries, lets others have a turn this often. */
const turnMsMax = 10;

/** The alerts of one server: follows what is configured, evaluates it, and hands fires to the subscribers. */
export class Alerting {
  readonly evaluator: Evaluator;
  readonly #options: AlertingOptions;
  readonly #scans: SharedScans;
  readonly #revisions = new Map<string, string>();
  /** Whoever saved alerts, by what says which rights they have. */
  readonly #callers = new Map<string, Caller>();
  /** What was configured when all of it was taken up. */
  #seen: ReturnType<AlertSources["alerts"]> | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: AlertingOptions) {
    const { state, metrics, now, log, store, queryMemoryBytes: memoryBytes } = options;
    this.#options = options;
    const scans = new SharedScans(store, metrics);
    this.#scans = scans;
    const plans = new QueryPlans();
    this.evaluator = new Evaluator({
      state,
      now,
      shapeOf: (query) => plans.shapeOf(query),
      arrivals: {
        position: () => store.arrivalMax,
        oldestMs: (signals, position) => {
          const times = signals.map(
            (signal) => store.oldestArrivedMs(signal, position) ?? Number.POSITIVE_INFINITY,
          );
          const oldestMs = Math.min(...times);
          return oldestMs === Number.POSITIVE_INFINITY ? undefined : oldestMs;
        },
      },
      query: async (asked, abort) => {
        // What is narrowed is shared too: scans are told apart by all that they keep.
        const seen = options.storeFor(scans, this.#callers.get(asked.readsAs)!);
        const planned = { ...asked, plan: plans.planOf(asked.query) };
        return (await queryTimeseries(seen, planned, { abort, memoryBytes })).series;
      },
      subscribers: [investigationRequests, ...options.subscribers],
      silencedBy: options.silencedBy,
      delayMs: defaultDelayMs,
      metrics,
      log,
    });
  }

  /**
   * Takes up what is configured and evaluates and tells from then on. Resolves when that is done, or goes on for long: with alerts by
   * the ten thousand a server answers before.
   */
  async run(): Promise<void> {
    const isMany = this.#options.sources.alertCount() > alertsAwaitedMax;
    const begun = isMany ? setImmediate().then(() => this.#begin()) : this.#begin();
    let isLate = isMany;
    this.#syncing = begun.catch((error: unknown) => {
      if (isLate) this.#beginAgain(error);
    });
    if (isMany) return;
    await Promise.race([begun, setTimeoutAsync(beginMsMax, undefined, { ref: false })]);
    isLate = true;
  }

  #beginAgain(error: unknown): void {
    this.#options.log("error", `alerts: ${String(error)}`);
    this.#timer = setTimeout(() => {
      this.#syncing = this.#begin().catch((again: unknown) => this.#beginAgain(again));
    }, syncEveryMs);
  }

  async #begin(): Promise<void> {
    await this.syncAlerts();
    if (this.#isClosed) return;
    this.evaluator.run();
    this.#scheduleSync();
  }

  /** Takes up what is configured. */
  async syncAlerts(): Promise<void> {
    await this.#sync();
    if (this.#isClosed) return;
    await this.evaluator.begin();
  }

  /** Queries that run are given up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#scans.end();
    await this.#syncing;
    clearTimeout(this.#timer);
    await this.evaluator.close();
  }

  #scheduleSync(): void {
    this.#timer = setTimeout(() => {
      this.#syncing = this.#sync()
        .catch((error: unknown) => this.#options.log("error", `alerts: ${String(error)}`))
        .then(() => this.#scheduleSync());
    }, syncEveryMs);
  }

  async #sync(): Promise<void> {
    const alerts = this.#options.sources.alerts();
    if (alerts === this.#seen) return;
    const gone = new Set(this.#revisions.keys());
    const changed: Promise<void>[] = [];
    let turnMs = performance.now();
    for (const [id, { value, revision, updatedBy }] of alerts) {
      gone.delete(id);
      if (this.#revisions.get(id) === revision) continue;
      this.#revisions.set(id, revision);
      const { role, groups, tokenId, user } = updatedBy;
      // What a token may read changes; an admin's sees all.
      const readsAs = JSON.stringify(
        role === "admin" && user === undefined ? [role] : [role, groups, tokenId, user?.claimed],
      );
      this.#callers.set(readsAs, updatedBy);
      const taken = this.#orAgain(id, this.evaluator.upsert({ ...withId(value, id), readsAs }));
      // A failure is thrown when all had their turn; until then it must not count as unheard.
      taken.catch(() => undefined);
      changed.push(taken);
      if (performance.now() - turnMs < turnMsMax) continue;
      await setImmediate();
      turnMs = performance.now();
      if (!this.#isClosed) continue;
      // Those that had no turn yet are not gone.
      gone.clear();
      break;
    }
    for (const id of gone) {
      this.#revisions.delete(id);
      changed.push(this.evaluator.remove(id));
    }
    await Promise.all(changed);
    this.#seen = alerts;
  }

  /** What could not be stored is taken up again with the next look. */
  async #orAgain(id: string, taken: Promise<void>): Promise<void> {
    try {
      await taken;
    } catch (error) {
      this.#revisions.delete(id);
      throw error;
    }
  }
}
