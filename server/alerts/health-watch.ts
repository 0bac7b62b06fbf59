/**
 * Alerts that are not judged any more: their query fails, whoever saved them lost access, they have too many series, or
 * no data. Where that lasts, the alert's own destinations are told, and told again when it is over.
 */

import type { Json, State, StateChange } from "../../engine/index.ts";
import type { AlertEvent } from "../model/event.ts";
import type { RoutedAction } from "../model/notification-route.ts";
import { stableId } from "../model/stable-id.ts";
import { distinctActions } from "../notify/destination.ts";
import { PeriodicTask } from "../throttle/periodic-task.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { defaultUnhealthyAfterMs } from "./limits.ts";
import { type AlertDefinition, queryOf } from "./state/alert-definition.ts";

/** An alert as the watch sees it. */
export interface WatchedAlert {
  alert: AlertDefinition;
  /** Why it is not judged, one sentence for people; null where it is, undefined where that is not known yet. */
  problem: string | null | undefined;
}

/** One time in which an alert was not judged. */
interface Episode {
  sinceMs: number;
  problem: string;
  /** Who was told; null before anybody was. */
  told: RoutedAction[] | null;
  /** What they were told. Absent before that, and from episodes that an earlier version stored. */
  begin?: AlertEvent;
}

export interface HealthWatchOptions {
  state: State;
  now: () => number;
  alerts: () => Iterable<WatchedAlert>;
  /** The outbox, which stores the notifications. */
  outbox: FireSubscriber;
  /** The actions that report an event of an alert: its own, and those of routes. */
  actionsFor: (event: AlertEvent, own: readonly RoutedAction[]) => RoutedAction[];
  log: (level: "warn" | "error", message: string) => void;
}

/** Interval at which alerts are looked through. */
const lookEveryMs = 5_000;
const table = "alert-health";

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #episodes: Map<string, Episode>;
  readonly #task: PeriodicTask;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
    this.#task = new PeriodicTask(
      lookEveryMs,
      () => this.look(),
      (error) => options.log("error", `health of alerts: ${String(error)}`),
    );
    const stored = options.state.list(table);
    this.#episodes = new Map(stored.map(({ id, value }) => [id, value as unknown as Episode]));
  }

  run(): void {
    this.#task.run();
  }

  async close(): Promise<void> {
    await this.#task.close();
  }

  /** Since when an alert is not judged, where that has lasted so long that it counts as unhealthy. */
  unhealthySinceMs(alertId: string): number | undefined {
    const episode = this.#episodes.get(alertId);
    return episode === undefined || episode.told === null ? undefined : episode.sinceMs;
  }

  get unhealthyCount(): number {
    return [...this.#episodes.values()].filter(({ told }) => told !== null).length;
  }

  /** Stores what has changed, together with the notifications about it. */
  async look(): Promise<void> {
    const { state, now, outbox } = this.#options;
    const nowMs = now();
    const after = new Map<string, Episode | undefined>();
    const messages: { event: AlertEvent; actions: RoutedAction[] }[] = [];
    const seen = new Set<string>();
    for (const { alert, problem } of this.#options.alerts()) {
      const { id } = alert.metadata;
      seen.add(id);
      if (problem === undefined) continue;
      const before = this.#episodes.get(id);
      const episode = this.#follow(alert, problem, before, nowMs, messages);
      if (episode !== before) after.set(id, episode);
    }
    for (const [id, { told, begin }] of this.#episodes) {
      if (seen.has(id)) continue;
      after.set(id, undefined);
      if (told !== null && begin !== undefined)
        messages.push({ event: makeDeletedEvent(begin, nowMs), actions: told });
    }
    if (after.size === 0) return;
    const prepared = outbox.prepare({ nowMs, messages, firstSeen: [] });
    const changes = Array.from(after, ([id, value]): StateChange => {
      return { table, id, value: value as unknown as Json };
    });
    await state.write([...changes, ...prepared.changes]);
    prepared.stored();
    for (const [id, episode] of after)
      if (episode === undefined) this.#episodes.delete(id);
      else this.#episodes.set(id, episode);
  }

  /** Returns the episode as it is now, the same object where nothing changed; undefined without one. */
  #follow(
    alert: AlertDefinition,
    problem: string | null,
    before: Episode | undefined,
    nowMs: number,
    messages: { event: AlertEvent; actions: RoutedAction[] }[],
  ): Episode | undefined {
    if (problem === null) {
      if (before?.told != null)
        messages.push({ event: makeEvent("alertHealthy", alert, before, nowMs), actions: before.told });
      return undefined;
    }
    const episode = before ?? { sinceMs: nowMs, problem, told: null };
    const afterMs = unhealthyAfterMsOf(alert);
    if (episode.told !== null || nowMs - episode.sinceMs < afterMs)
      return episode.problem === problem ? episode : { ...episode, problem };
    const event = makeEvent("alertUnhealthy", alert, { ...episode, problem }, nowMs);
    const told = this.#options.actionsFor(event, ownActionsOf(alert));
    messages.push({ event, actions: told });
    return { ...episode, problem, told, begin: event };
  }
}

function unhealthyAfterMsOf({ unhealthyAfterSeconds }: AlertDefinition): number {
  return unhealthyAfterSeconds === undefined ? defaultUnhealthyAfterMs : unhealthyAfterSeconds * 1_000;
}

/** The actions of all rules, each destination once. */
function ownActionsOf({ timeseries: { evaluationRules } }: AlertDefinition): RoutedAction[] {
  return distinctActions(evaluationRules.flatMap(({ actions = [] }) => actions));
}

/** `fireId` is the same for both events of an episode. */
function makeEvent(
  type: "alertUnhealthy" | "alertHealthy",
  alert: AlertDefinition,
  { sinceMs, problem }: Episode,
  nowMs: number,
): AlertEvent {
  const { id, name, description = "" } = alert.metadata;
  const fireId = stableId("unhealthy", id, sinceMs);
  const { bucketSeconds } = queryOf(alert);
  return {
    id: type === "alertUnhealthy" ? stableId("fired", fireId) : endId(fireId),
    type,
    ...{ alertId: id, alertName: name, alertDescription: description, rule: "", ...queryOf(alert) },
    ...{ fireId, labels: {}, firedAtMs: sinceMs, problem, late: false },
    breached: {
      bucketMs: Math.floor(sinceMs / (bucketSeconds * 1_000)) * bucketSeconds * 1_000,
      value: null,
    },
    ...(alert.severity === undefined ? {} : { severity: alert.severity }),
    ...(alert.labels === undefined ? {} : { alertLabels: alert.labels }),
    ...(alert.runbook === undefined ? {} : { runbook: alert.runbook }),
    ...(type === "alertHealthy" ? { resolvedAtMs: nowMs } : {}),
  };
}

/** The end of an episode whose alert was deleted. */
function makeDeletedEvent(begin: AlertEvent, nowMs: number): AlertEvent {
  return { ...begin, id: endId(begin.fireId), type: "alertHealthy", resolvedAtMs: nowMs, reason: "deleted" };
}

/** The outbox knows the end of a fire by an id of this form, and sends it to everybody who was sent the begin. */
function endId(fireId: string): string {
  return stableId("resolved", fireId);
}
