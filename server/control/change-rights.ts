/**
 * Nobody changes what happens to rows that they may not read. Says for each kind of resource which rows a change
 * decides on, and why a caller may not make it: sentences for people, which name nothing that the caller may not see.
 */

import type { AuthorizationScope } from "../access/authorization-scope.ts";
import { excludedRows, type LabelValues } from "../access/row-selection.ts";
import { type Alert, webhooksOf, webhooksOfActions } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import type { IngestionRule } from "../model/ingestion-rule.ts";
import type { NotificationRoute } from "../model/notification-route.ts";
import { isManaged } from "../model/resource-id.ts";
import type { Silence } from "../model/silence.ts";
import type { Stored } from "../model/stored-resource.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Collection, CollectionEntry } from "./collection.ts";

export class ChangeRights {
  readonly #alerts: Collection<Alert>;
  readonly #routes: Collection<NotificationRoute>;
  readonly #scope: AuthorizationScope;
  #uses: { list: readonly CollectionEntry<Alert>[]; byWebhook: Map<string, CollectionEntry<Alert>[]> } = {
    list: [],
    byWebhook: new Map(),
  };

  constructor(
    { alerts, routes }: { alerts: Collection<Alert>; routes: Collection<NotificationRoute> },
    scope: AuthorizationScope,
  ) {
    this.#alerts = alerts;
    this.#routes = routes;
    this.#scope = scope;
  }

  /** An alert decides on all rows that it reads, with the rights of whoever saved it last. */
  findAlertProblem(stored: Stored<Alert> | undefined, by: Caller): string | undefined {
    if (stored === undefined || this.#scope.canReadAllOf(by, stored.updatedBy)) return undefined;
    return "whoever saved this alert last reads rows that you may not: save one of your own under another id, or ask an admin";
  }

  /** A webhook decides where the alerts and routes that name it send what alerts find. Routes are about all rows. */
  findWebhookProblem(id: string, by: Caller): string | undefined {
    if (this.#scope.isUnrestricted(by)) return undefined;
    if (routesUsing(this.#routes, id).length > 0)
      return "the webhook is used by routes, which report alerts over rows that you may not read: make one of your own, or ask an admin";
    const barred = this.alertsUsing(id).filter(({ value }) => !this.#scope.canReadRowsOf(by, value));
    if (barred.length === 0) return undefined;
    const alerts = barred.length === 1 ? "an alert" : `${barred.length} alerts`;
    return `the webhook is used by ${alerts} over rows that you may not read: make one of your own, or ask an admin`;
  }

  /** The alerts that name a webhook, in the order of their ids. */
  alertsUsing(webhookId: string): readonly CollectionEntry<Alert>[] {
    const list = this.#alerts.list();
    if (this.#uses.list !== list) this.#uses = { list, byWebhook: indexUses(list) };
    return this.#uses.byWebhook.get(webhookId) ?? [];
  }

  /** A stored silence decides on what it covers with the rights of whoever saved it last. */
  findSilenceProblem(stored: Stored<Silence> | undefined, by: Caller): string | undefined {
    if (stored === undefined || this.#scope.canReadAllOf(by, stored.updatedBy)) return undefined;
    const { alertIds, match } = stored.value;
    const isRead = (id: string) => this.#scope.canSilence(by, id, labelsOf(match));
    if (alertIds?.every(isRead)) return undefined;
    return "the silence may cover alerts over rows that you may not read: ask an admin to change it";
  }

  /**
   * Throws Refusal 403 where a silence names an alert that the caller may not silence; `path` is of the silence.
   * Silences that name no alert hold for what their saver may read of each.
   */
  checkSilence({ alertIds = [], match }: Silence, path: string, by: Caller): void {
    if (this.#scope.isUnrestricted(by)) return;
    for (const [i, id] of alertIds.entries()) {
      const stored = this.#alerts.get(id);
      const isAbsent = stored === undefined && !isManaged(id);
      if (isAbsent || this.#scope.canSilence(by, id, labelsOf(match))) continue;
      const problem = this.#findGrantProblem(stored, id, by) ?? silencedRowsProblem;
      throw new Refusal(403, `${path}.alertIds[${i}]: ${problem}`, {
        details: { field: `${path}.alertIds[${i}]` },
      });
    }
  }

  /** A managed alert that no rule lets the caller update, whether it exists or not. */
  #findGrantProblem(stored: Stored<Alert> | undefined, id: string, by: Caller): string | undefined {
    const isGranted =
      stored === undefined ? !isManaged(id) : this.#scope.canUse(by, "alerts", "update", "configure", stored);
    return isGranted ? undefined : `no rule of your groups lets you update the alert ${JSON.stringify(id)}`;
  }

  /** A stored ingestion rule decides which rows are left out, and a deleted one that they are kept. */
  findIngestionRuleProblem(stored: Stored<IngestionRule> | undefined, by: Caller): string | undefined {
    if (stored === undefined || this.#unreadableExclusion(stored.value, by) < 0) return undefined;
    return "the ingestion rule is about rows that you may not read: ask an admin to change it";
  }

  /** Throws Refusal 403 where a rule would leave out rows that the caller may not read; `path` is of the rule. */
  checkIngestionRule(rule: IngestionRule, path: string, by: Caller): void {
    const i = this.#unreadableExclusion(rule, by);
    if (i < 0) return;
    const field = `${path}.rules[${i}]`;
    const problem =
      "may leave out rows that you may not read: match what your telemetry rules grant by In, such as k8s.namespace.name, or ask an admin";
    throw new Refusal(403, `${field} ${problem}`, { details: { field } });
  }

  #unreadableExclusion(rule: IngestionRule, by: Caller): number {
    return excludedRows(rule).findIndex((rows) => !this.#scope.canReadRows(by, rows));
  }
}

/** The routes that name a webhook. */
export function routesUsing(
  routes: Collection<NotificationRoute>,
  webhookId: string,
): readonly CollectionEntry<NotificationRoute>[] {
  return routes
    .list()
    .filter(({ value }) => webhooksOfActions(value.value.actions, "").some(({ id }) => id === webhookId));
}

const silencedRowsProblem =
  "the alert reads rows that you may not: match labels by In that only instances of yours have, such as k8s.namespace.name, or ask an admin";

function indexUses(list: readonly CollectionEntry<Alert>[]): Map<string, CollectionEntry<Alert>[]> {
  const uses = new Map<string, CollectionEntry<Alert>[]>();
  for (const entry of list) {
    for (const id of new Set(webhooksOf(entry.value.value).map((named) => named.id))) {
      const known = uses.get(id);
      if (known === undefined) uses.set(id, [entry]);
      else known.push(entry);
    }
  }
  return uses;
}

/** What a silence's match says of the labels of every instance that it covers. */
function labelsOf(match: Silence["match"]): LabelValues {
  const labels = new Map<string, readonly string[]>();
  for (const { key, operator, values } of match?.matchExpressions ?? []) {
    if (operator !== "In") continue;
    const known = labels.get(key);
    labels.set(key, known === undefined ? values : values.filter((value) => known.includes(value)));
  }
  return labels;
}
