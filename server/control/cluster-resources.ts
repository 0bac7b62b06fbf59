/**
 * The resources that the cluster of an environment manages. They are deleted with the environment: the cluster was the
 * source of truth for them, its exporter is turned away from then on, and nobody else may change what is managed. They
 * would stay for ever. To hand them over to people would not do. Their ids are Kubernetes' own, and the same objects come
 * again under these ids where the environment is created anew.
 */

import { type Alert, webhooksOf, webhooksOfActions } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import type { NotificationRoute } from "../model/notification-route.ts";
import type { Collection, CollectionEntry, Removal } from "./collection.ts";
import type { Collections } from "./resource-kinds.ts";

/** What deletes all resources that a cluster manages. */
export function removalsOfCluster(collections: Collections, cluster: string, by: Caller): Removal[] {
  const { alerts, dashboards, webhooks, telemetryRules, resourceRules, ingestionRules } = collections;
  // Groups are missing: they come from the hub's own cluster, and an environment may bear its name.
  const kinds: Collection<unknown>[] = [
    ...[alerts, dashboards, webhooks],
    ...[telemetryRules, resourceRules, ingestionRules],
  ];
  return kinds.flatMap((kind) => entriesOf(kind, cluster).map((entry) => kind.removalOf(entry, by)));
}

/** What else notifies webhooks that a cluster manages, such as `the alert "a"`. */
export function usesOfCluster({ alerts, routes, webhooks }: Collections, cluster: string): string[] {
  const managed = new Set(entriesOf(webhooks, cluster).map(({ id }) => id));
  if (managed.size === 0) return [];
  const others = alerts.list().filter(({ value }) => value.managed?.cluster !== cluster);
  const webhooksOfRoute = ({ actions }: NotificationRoute) => webhooksOfActions(actions, "");
  return [
    ...others.flatMap((entry) => describeUse("alert", entry, webhooksOf, managed)),
    ...routes.list().flatMap((entry) => describeUse("route", entry, webhooksOfRoute, managed)),
  ];
}

function entriesOf<T>(collection: Collection<T>, cluster: string): CollectionEntry<T>[] {
  return collection.list().filter(({ value }) => value.managed?.cluster === cluster);
}

function describeUse<T extends Alert | NotificationRoute>(
  kind: string,
  { id, value }: CollectionEntry<T>,
  webhooksIn: (value: T) => readonly { id: string }[],
  managed: ReadonlySet<string>,
): string[] {
  const webhook = webhooksIn(value.value).find((named) => managed.has(named.id));
  if (webhook === undefined) return [];
  return [`the ${kind} ${JSON.stringify(id)} (webhook ${JSON.stringify(webhook.id)})`];
}
