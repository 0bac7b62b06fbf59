/** Alerts that are not judged, in the model: who is told of it and when, by the looks that were taken at them. */
import type { Action } from "../../../../server/model/alert.ts";
import { type ModelHolds, receiversOf } from "./holds.ts";
import type { ModelAlert, ModelEvent, ModelFire } from "./model.ts";
import { minute, second } from "./plan.ts";

/** `unknown`: not evaluated yet since the start. */
export type Judged = "yes" | "no" | "unknown";

interface Episode {
  alert: ModelAlert;
  sinceMs: number;
  told: readonly Action[] | null;
}

export class ModelWatch {
  readonly #episodes = new Map<string, Episode>();

  /** What was seen at one look is stored all at once, with the messages. */
  look(alerts: Iterable<readonly [ModelAlert, Judged]>, holds: ModelHolds, nowMs: number): void {
    const gone = new Set(this.#episodes.keys());
    for (const [alert, judged] of alerts) {
      const { id } = alert.alert.metadata;
      gone.delete(id);
      if (judged === "yes") this.#end(id, nowMs, null);
      if (judged === "no") this.#goOn(alert, id, holds, nowMs);
    }
    for (const id of gone) this.#end(id, nowMs, "deleted");
  }

  #end(id: string, nowMs: number, reason: string | null): void {
    const episode = this.#episodes.get(id);
    this.#episodes.delete(id);
    if (episode?.told != null) tell("alertHealthy", episode, episode.told, nowMs, reason);
  }

  #goOn(alert: ModelAlert, id: string, holds: ModelHolds, nowMs: number): void {
    const episode = this.#episodes.get(id) ?? { alert, sinceMs: nowMs, told: null };
    this.#episodes.set(id, episode);
    const { unhealthyAfterSeconds } = alert.alert;
    const afterMs = unhealthyAfterSeconds === undefined ? 10 * minute : unhealthyAfterSeconds * second;
    if (episode.told !== null || nowMs < episode.sinceMs + afterMs) return;
    const all = alert.alert.timeseries.evaluationRules.flatMap(({ actions = [] }) => actions);
    episode.told = receiversOf({ alertId: id, rule: "", labels: "{}" }, all, holds);
    tell("alertUnhealthy", episode, episode.told, null, null);
  }
}

function tell(
  type: ModelEvent["type"],
  { alert, sinceMs }: Episode,
  actions: readonly Action[],
  resolvedAtMs: number | null,
  reason: string | null,
): void {
  const fire: ModelFire = {
    ...{ alertId: alert.alert.metadata.id, rule: "", labels: "{}", firedAtMs: sinceMs },
    ...{ resolvedAtMs, reason: null, told: "yes", noticed: true, actions },
    ...{ repeatSeconds: undefined, repeats: new Map(), heldMs: null, begunMs: 0, endedMs: null },
  };
  alert.events.push({ fire, type, actions, late: false, resolvedAtMs, reason });
}
