/** Which routes take a fire, and which fires are held back while others are open. */

import type { Action } from "../model/alert.ts";
import type { AlertEvent } from "../model/event.ts";
import type { Inhibition, NotificationRoute, RoutedAction } from "../model/notification-route.ts";
import { isMatch, labelValue } from "../model/schema.ts";
import { distinctActions } from "./destination.ts";

/** A fire as routes and inhibitions see it. */
export type RoutedFire = Pick<
  AlertEvent,
  "alertId" | "alertName" | "rule" | "labels" | "alertLabels" | "severity"
>;

/** The labels by which routes and inhibitions choose: of the instance, of the alert, and what the alert is. */
function routingLabels({ alertId, alertName, rule, labels, alertLabels, severity }: RoutedFire) {
  return {
    ...labels,
    ...alertLabels,
    ...{ "alert.id": alertId, "alert.name": alertName, "alert.rule": rule, severity: severity ?? "" },
  };
}

/** The alert's own actions, and those of all routes that take the fire; of two to one destination the first. */
export function findActions(
  fire: RoutedFire,
  own: readonly Action[],
  routes: readonly { id: string; value: NotificationRoute }[],
): RoutedAction[] {
  const labels = routingLabels(fire);
  const routed = routes
    .filter(({ value }) => isMatch(value.match, labels))
    .flatMap(({ id, value }) => value.actions.map((action): RoutedAction => ({ ...action, routeId: id })));
  return distinctActions([...own, ...routed]);
}

/** The values of the labels by which a route groups; null where it groups by the alert alone. */
export function groupKeyOf({ groupBy }: Pick<NotificationRoute, "groupBy">, fire: RoutedFire): string | null {
  if (groupBy === undefined) return null;
  const labels: Readonly<Record<string, string>> = routingLabels(fire);
  return JSON.stringify(groupBy.map((name) => labelValue(labels, name)));
}

/** Combinations of values that open sources have in the labels of an inhibition. */
type SourceValues = Map<Inhibition, ReadonlySet<string>>;

/** What was found of each list of open fires: many fires are looked up in one. */
const knownSources = new WeakMap<readonly RoutedFire[], SourceValues>();

/**
 * The inhibition by which one of the open fires holds a fire back. A fire does not hold itself back. `openFires` returns
 * the same list as long as the fires are the same.
 */
export function findInhibition(
  fire: RoutedFire,
  inhibitions: readonly { id: string; value: Inhibition }[],
  openFires: () => readonly RoutedFire[],
): string | undefined {
  if (inhibitions.length === 0) return undefined;
  const labels: Readonly<Record<string, string>> = routingLabels(fire);
  return inhibitions.find(({ value }) => {
    if (!isMatch(value.target, labels) || isMatch(value.source, labels)) return false;
    return sourceValues(value, openFires()).has(valuesOf(value, labels));
  })?.id;
}

function sourceValues(inhibition: Inhibition, open: readonly RoutedFire[]): ReadonlySet<string> {
  let known = knownSources.get(open);
  if (known === undefined) {
    known = new Map();
    knownSources.set(open, known);
  }
  let values = known.get(inhibition);
  if (values === undefined) {
    const sources = open.map(routingLabels).filter((labels) => isMatch(inhibition.source, labels));
    values = new Set(sources.map((labels) => valuesOf(inhibition, labels)));
    known.set(inhibition, values);
  }
  return values;
}

function valuesOf({ equal = [] }: Inhibition, labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(equal.map((name) => labelValue(labels, name)));
}
