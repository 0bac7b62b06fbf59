/** Alerting of one server: keeps the evaluator in step with the configured alerts, and gives its queries the store. */
import { setImmediate, setTimeout as setTimeoutAsync } from "node:timers/promises";
import { type Signal, type State, type Store, Turns } from "../../engine/index.ts";
import { queryTimeseries, type SeriesStore, type TimeseriesPlan } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import { Evaluator } from "./evaluator.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { FiringSamples } from "./firing-samples.ts";
import { HealthWatch, type HealthWatchOptions } from "./health-watch.ts";
import { InvestigationRequests } from "./investigation-requests.ts";
import { defaultDelayMs, defaultHistoryAgeMs, defaultLateRowsMs, defaultRetryWaitMs } from "./limits.ts";
import { QueryPlans } from "./query/query-shape.ts";
import { SharedScans } from "./query/shared-scans.ts";
import { Repeats, type RepeatsOptions } from "./repeats.ts";
import { withId } from "./state/alert-definition.ts";
import type { AliveMark } from "./state/downtime.ts";

/** Access to the alerts that are configured now. */
interface AlertSources {
  /**
   * Returns all configured alerts; the list is the same object until one of them changes. Each change of an alert gives
   * it another revision. The queries of an alert run with the rights of `updatedBy`, the caller who saved it last.
   */
  alerts: () => readonly { id: string; value: { value: Alert; revision: string; updatedBy: Caller } }[];
  alertCount: () => number;
}

/** How long evaluation waits for rows, and how far back it judges again. Absent: the defaults of `limits.ts`. */
export interface AlertTiming {
  delayMs?: number;
  signalDelaysMs?: Partial<Record<Signal, number>>;
  lateRowsMs?: number;
  retryWaitMs?: number;
  historyAgeMs?: number;
}

export interface AlertingOptions {
  store: Store;
  state: State;
  sources: AlertSources;
  /** Are notified of fires, in addition to the requests for investigations. */
  subscribers: readonly FireSubscriber[];
  /** The outbox gets messages about fires that go on, too. */
  repeats: Pick<RepeatsOptions, "outbox" | "routeOf">;
  /** Decides which fires are held back, and to whom others are reported. */
  holds: Pick<EvaluatorOptions, "silencedBy" | "actionsFor"> & {
    /** The same for an event about the alert as a whole. */
    actionsForEvent: HealthWatchOptions["actionsFor"];
  };
  metrics: Metrics;
  now: () => number;
  /**
   * Returns the store as `caller`, who saved an alert, may read it now. Throws an Error for people if the caller has
   * lost access. Reads of the returned store throw such an Error, too.
   */
  storeFor: (store: SearchableStore, caller: Caller) => SeriesStore;
  queryMemoryBytes: number;
  timing?: AlertTiming | undefined;
  aliveMark?: AliveMark;
  log: (level: "warn" | "error", message: string) => void;
}

/** Interval at which changes of the configuration are looked for. */
const syncEveryMs = 500;
/** With at most this many alerts, a start waits until all are loaded. */
const alertsAwaitedMax = 1_000;
/** Longest time that a start waits until all alerts are loaded. */
const beginMsMax = 100;

/** The evaluator of a server's alerts, together with the loop that applies changes of the configuration to it. */
export class Alerting {
  readonly evaluator: Evaluator;
  readonly investigationRequests: InvestigationRequests;
  readonly #options: AlertingOptions;
  readonly health: HealthWatch;
  readonly #repeats: Repeats;
  readonly #firingSamples: FiringSamples;
  readonly #scans: SharedScans;
  readonly #revisions = new Map<string, string>();
  /** Callers who saved alerts, by `readsAs`, the text of their rights. */
  readonly #callers = new Map<string, Caller>();
  /** `readsAs` of each alert. */
  readonly #readsAs = new Map<string, string>();
  /** The list of the last sync that was complete. */
  #synced: ReturnType<AlertSources["alerts"]> | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: AlertingOptions) {
    const { state, metrics, now, log, store, timing = {}, queryMemoryBytes: memoryBytes } = options;
    this.#options = options;
    const scans = new SharedScans(store, metrics);
    this.#scans = scans;
    this.investigationRequests = new InvestigationRequests(state);
    const plans = new QueryPlans();
    // Scans with row-level filters are shared, too: equal scans have equal filters.
    const storeOf = ({ readsAs }: { readsAs: string }) =>
      options.storeFor(scans, this.#callers.get(readsAs)!);
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
      query: async (request, abort) => {
        const planned = { ...request, plan: plans.planOf(request.query) };
        return (await queryTimeseries(storeOf(request), planned, { abort, memoryBytes })).series;
      },
      bucketsWithRows: async (request, abort) => {
        const found = new Set<number>();
        for (const plan of scanPlans(plans.planOf(request.query))) {
          const search = { ...request, plan };
          const { series } = await queryTimeseries(storeOf(request), search, { abort, memoryBytes });
          for (const { points } of series) for (const [bucketMs] of points) found.add(bucketMs);
        }
        return [...found];
      },
      subscribers: [this.investigationRequests, ...options.subscribers],
      silencedBy: options.holds.silencedBy,
      actionsFor: options.holds.actionsFor,
      delayMs: timing.delayMs ?? defaultDelayMs,
      signalDelaysMs: timing.signalDelaysMs ?? {},
      lateRowsMs: timing.lateRowsMs ?? defaultLateRowsMs,
      retryWaitMs: timing.retryWaitMs ?? defaultRetryWaitMs,
      historyAgeMs: timing.historyAgeMs ?? defaultHistoryAgeMs,
      aliveMark: options.aliveMark,
      metrics,
      log,
    });
    const { records } = this.evaluator;
    this.health = new HealthWatch({
      ...{ state, now, log, outbox: options.repeats.outbox },
      alerts: () => this.evaluator.watched(),
      actionsFor: options.holds.actionsForEvent,
    });
    metrics.gauge(
      "svc_alert_unhealthy",
      "Alerts that are not judged for so long that people were told.",
      () => {
        return this.health.unhealthyCount;
      },
    );
    this.#firingSamples = new FiringSamples({ store, records, now, log });
    this.#repeats = new Repeats({
      ...{ state, records, now, log, ...options.repeats },
      silencedBy: (fire, openFires) => options.holds.silencedBy(fire, openFires),
      inAlertTurn: (alertId, act) => this.evaluator.inAlertTurn(alertId, act),
    });
  }

  /**
   * Loads the configured alerts, and evaluates them from then on. Resolves when they are loaded, or earlier where that
   * takes long: a server with ten thousands of alerts answers requests before all are loaded.
   */
  async run(): Promise<void> {
    const isMany = this.#options.sources.alertCount() > alertsAwaitedMax;
    const begun = isMany ? setImmediate().then(() => this.#begin()) : this.#begin();
    // An error that comes after this function has resolved reaches no caller: then loading is tried again.
    let hasReturned = isMany;
    this.#syncing = begun.catch((error: unknown) => {
      if (hasReturned) this.#beginAgain(error);
    });
    if (isMany) return;
    await Promise.race([begun, setTimeoutAsync(beginMsMax, undefined, { ref: false })]);
    hasReturned = true;
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
    this.#repeats.run();
    this.#firingSamples.run();
    this.health.run();
    this.#scheduleSync();
  }

  /** Loads the configured alerts into the evaluator, and deletes the stored state of all others. */
  async syncAlerts(): Promise<void> {
    await this.#sync();
    if (this.#isClosed) return;
    await this.evaluator.begin();
  }

  /** Aborts running queries, and waits until the finished evaluations are stored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#scans.abort();
    await this.#syncing;
    clearTimeout(this.#timer);
    await this.#repeats.close();
    await this.#firingSamples.close();
    await this.health.close();
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
    if (alerts === this.#synced) return;
    const deleted = new Set(this.#revisions.keys());
    const changed: Promise<void>[] = [];
    const turns = new Turns();
    for (const entry of alerts) {
      const { id } = entry;
      const { value, revision, updatedBy } = entry.value;
      deleted.delete(id);
      if (this.#revisions.get(id) === revision) continue;
      this.#revisions.set(id, revision);
      const { role, groups, tokenId, user, environment } = updatedBy;
      // What a token may read can change, so its id stands for its rights; an admin token reads everything.
      const readsAs = JSON.stringify(
        role === "cluster"
          ? [role, environment]
          : role === "admin" && user === undefined
            ? [role]
            : [role, groups, tokenId, user?.claimed],
      );
      this.#callers.set(readsAs, updatedBy);
      this.#readsAs.set(id, readsAs);
      const upserted = this.#forgetOnFailure(id, this.evaluator.upsert({ ...withId(value, id), readsAs }));
      // A failure is thrown at the end, by `Promise.all`. Until then it must not count as an unhandled rejection.
      upserted.catch(() => undefined);
      changed.push(upserted);
      if (!turns.isOver) continue;
      await turns.next();
      if (!this.#isClosed) continue;
      // The loop ends early: alerts that it has not reached are not deleted.
      deleted.clear();
      break;
    }
    for (const id of deleted) {
      this.#revisions.delete(id);
      this.#readsAs.delete(id);
      changed.push(this.evaluator.remove(id));
    }
    await Promise.all(changed);
    // Callers who saved no alert that is left.
    const used = new Set(this.#readsAs.values());
    for (const readsAs of this.#callers.keys()) if (!used.has(readsAs)) this.#callers.delete(readsAs);
    this.#synced = alerts;
  }

  /** Forgets the revision of an alert that could not be stored, so that the next sync tries again. */
  async #forgetOnFailure(id: string, upserted: Promise<void>): Promise<void> {
    try {
      await upserted;
    } catch (error) {
      this.#revisions.delete(id);
      throw error;
    }
  }
}

/** A plan for each scan of a plan, which gives the series of that scan in the bucket that each row is in. */
function scanPlans({ scans }: TimeseriesPlan): TimeseriesPlan[] {
  return scans.map(({ windowSeconds: _window, offsetSeconds: _offset, ...scan }) => ({
    ...{ scans: [scan], names: [], warnings: [] },
    series: { kind: "scan", scan: 0, aggregate: 0, perSecond: false },
  }));
}
