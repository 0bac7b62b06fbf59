/** Routes and inhibitions of the week: whom they take in the model. */
import type { Action } from "../../../../server/model/alert.ts";
import type {
  Inhibition,
  NotificationRoute,
  RoutedAction,
} from "../../../../server/model/notification-route.ts";
import { traitsOf } from "./drawn-holds.ts";
import type { ModelAlert, ModelFire } from "./model.ts";
import { nameOf } from "./receivers.ts";

/** Routes and inhibitions as they are at a moment. */
export interface ModelHolds {
  routes: ReadonlyMap<string, NotificationRoute>;
  inhibitions: ReadonlyMap<string, Inhibition>;
}

type Labels = Record<string, string>;

function labelsOf(alertId: string, rule: string, labels: string): Labels {
  const { severity, labels: own } = traitsOf(alertId);
  const instance = JSON.parse(labels) as Labels;
  return { ...instance, ...own, severity, "alert.id": alertId, "alert.rule": rule };
}

function holds(match: NotificationRoute["match"], labels: Labels): boolean {
  for (const { key, operator, values } of match?.matchExpressions ?? []) {
    const isIn = values.includes(labels[key] ?? "");
    if (operator === "In" ? !isIn : isIn) return false;
  }
  return true;
}

/** The alert's own actions, and those of each route that takes the fire; no destination twice. */
export function receiversOf(
  { alertId, rule, labels }: Pick<ModelFire, "alertId" | "rule" | "labels">,
  own: readonly Action[],
  { routes }: ModelHolds,
): RoutedAction[] {
  const found: RoutedAction[] = [];
  const add = (action: RoutedAction) => {
    if (!found.some((each) => nameOf(each) === nameOf(action))) found.push(action);
  };
  for (const action of own) add(action);
  for (const id of [...routes.keys()].sort()) {
    const route = routes.get(id)!;
    if (!holds(route.match, labelsOf(alertId, rule, labels))) continue;
    for (const action of route.actions) add({ ...action, routeId: id });
  }
  return found;
}

/**
 * Whether a fire is held back by another. `unclear`: by one that begins or ends in the same moment, and which of both was
 * evaluated first is left open.
 */
export function isInhibited(
  fire: ModelFire,
  all: readonly ModelAlert[],
  { inhibitions }: ModelHolds,
  nowMs: number,
): "yes" | "no" | "unclear" {
  let answer: "no" | "unclear" = "no";
  const own = labelsOf(fire.alertId, fire.rule, fire.labels);
  for (const { source, target, equal = [] } of inhibitions.values()) {
    if (!holds(target, own) || holds(source, own)) continue;
    for (const alert of all) {
      for (const other of alert.recentFires(nowMs)) {
        const labels = labelsOf(other.alertId, other.rule, other.labels);
        if (!holds(source, labels)) continue;
        if (equal.some((key) => (labels[key] ?? "") !== (own[key] ?? ""))) continue;
        if (other.begunMs !== nowMs && other.endedMs === null) return "yes";
        answer = "unclear";
      }
    }
  }
  return answer;
}
