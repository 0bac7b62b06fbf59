/** The kinds of stored resources: their collections, and how the API shows each. */

import type { State } from "../../engine/index.ts";
import type { AuthorizationScope } from "../access/authorization-scope.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Route } from "../api/route.ts";
import type { Group, ResourceRule, TelemetryRule } from "../model/access-rules.ts";
import { groupShape, resourceRuleShape, telemetryRuleShape, warnIdlePaths } from "../model/access-rules.ts";
import type { Alert } from "../model/alert.ts";
import { alertShape, checkAlert, checkWebhooks, webhooksOfActions } from "../model/alert.ts";
import type { Dashboard } from "../model/dashboard.ts";
import { checkDashboard, dashboardShape, managedFolder } from "../model/dashboard.ts";
import type { Environment } from "../model/environment.ts";
import type { IngestionRule } from "../model/ingestion-rule.ts";
import { ingestionRuleShape } from "../model/ingestion-rule.ts";
import { checkIngestionRule } from "../model/ingestion-rule-check.ts";
import type { Inhibition, NotificationRoute } from "../model/notification-route.ts";
import {
  checkNotificationRoute,
  inhibitionShape,
  notificationRouteShape,
} from "../model/notification-route.ts";
import type { SavedSearch } from "../model/saved-search.ts";
import { checkSavedSearch, savedSearchShape } from "../model/saved-search.ts";
import type { Silence } from "../model/silence.ts";
import { checkSilence, silenceShape } from "../model/silence.ts";
import type { Webhook } from "../model/webhook.ts";
import { checkWebhook, webhookShape } from "../model/webhook.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Audit } from "./audit.ts";
import { ChangeRights, routesUsing } from "./change-rights.ts";
import { Collection } from "./collection.ts";
import {
  hideAlertSecrets,
  hideWebhookSecrets,
  restoreAlertSecrets,
  restoreWebhookSecrets,
} from "./hidden-secrets.ts";
import { ingestionRulesMax, resourcesMax, routesMax } from "./limits.ts";
import { type ResourceContext, type ResourceKind, resourceRoutes } from "./resource-routes.ts";
import { refuseUsed, usesOfGroup } from "./uses.ts";

/** The collection of each kind. */
export type Collections = ReturnType<typeof openCollections>;

/** Opens the collection of every kind. */
export function openCollections(state: State, audit: Audit, now: () => number) {
  const of = <T>(
    table: string,
    name: string,
    titleOf: (value: T) => string | undefined,
    sizeMax = resourcesMax,
  ) =>
    new Collection<T>({ state, audit, now, table, name, sizeMax, titleOf: (value) => titleOf(value) ?? "" });
  return {
    alerts: of<Alert>("alerts", "alert", ({ metadata }) => metadata.name),
    dashboards: of<Dashboard>("dashboards", "dashboard", ({ metadata }) => metadata.title),
    environments: of<Environment>("environments", "environment", ({ name }) => name),
    webhooks: of<Webhook>("webhooks", "webhook", ({ displayName, id }) => displayName ?? id),
    groups: of<Group>("groups", "group", ({ name }) => name),
    telemetryRules: of<TelemetryRule>("telemetry-rules", "telemetryRule", titleOrId),
    resourceRules: of<ResourceRule>("resource-rules", "resourceRule", titleOrId),
    ingestionRules: of<IngestionRule>("ingestion-rules", "ingestionRule", titleOrId, ingestionRulesMax),
    silences: of<Silence>("silences", "silence", ({ id }) => id),
    routes: of<NotificationRoute>("routes", "route", titleOrId, routesMax),
    inhibitions: of<Inhibition>("inhibitions", "inhibition", titleOrId, routesMax),
    savedSearches: of<SavedSearch>("saved-searches", "savedSearch", ({ name }) => name),
  };
}

/** What is known of the delivery of notifications. */
export interface DeliveryKnowledge {
  /** Sentences about the actions of an alert that cannot be delivered, each with the action's place below `path`. */
  undeliverable(alert: Alert, path: string): string[];
  /** Whether a webhook's receiver answered 410, and the webhook was not saved since. */
  isWebhookOff(uuid: string): boolean;
}

/** The routes of every kind that has no routes of its own. */
export function resourceKindRoutes(
  all: Collections,
  tokens: Tokens,
  context: ResourceContext,
  delivery: DeliveryKnowledge,
): Route[] {
  const routesOf = <T>(kind: ResourceKind<T>) => resourceRoutes(kind, context);
  const { scope } = context;
  const rights = new ChangeRights(all, scope);
  return [
    ...routesOf(makeAlertKind(all, scope, rights, delivery)),
    ...routesOf(makeDashboardKind(all)),
    ...routesOf(makeWebhookKind(all, scope, rights, delivery)),
    ...routesOf(makeSilenceKind(all, scope, rights)),
    // They change what people hear of all alerts, so only admins do.
    ...routesOf<NotificationRoute>({
      name: "route",
      plural: "routes",
      path: `${api}/routes`,
      schema: notificationRouteShape,
      collection: all.routes,
      ...access,
      ...createdById,
      check: (route, path, by) => {
        checkNotificationRoute(route, path);
        const isWebhook = (id: string) => scope.canName(by, "webhooks", id);
        return checkWebhooks(webhooksOfActions(route.actions, "actions"), path, isWebhook);
      },
    }),
    ...routesOf<Inhibition>({
      name: "inhibition",
      plural: "inhibitions",
      path: `${api}/inhibitions`,
      schema: inhibitionShape,
      collection: all.inhibitions,
      ...access,
      ...createdById,
      check: () => [],
    }),
    ...routesOf<SavedSearch>({
      name: "savedSearch",
      plural: "savedSearches",
      path: `${api}/saved-searches`,
      schema: savedSearchShape,
      collection: all.savedSearches,
      ...operated,
      ...createdById,
      check: checkSavedSearch,
    }),
    ...routesOf<IngestionRule>({
      name: "ingestionRule",
      plural: "ingestionRules",
      path: `${api}/ingestion-rules`,
      schema: ingestionRuleShape,
      collection: all.ingestionRules,
      ...guarded,
      ...createdById,
      check: (rule, path, by) => {
        checkIngestionRule(rule, path);
        rights.checkIngestionRule(rule, path, by);
        return [];
      },
      findChangeProblem: (_, stored, by) => rights.findIngestionRuleProblem(stored, by),
    }),
    ...routesOf<Group>({
      name: "group",
      plural: "groups",
      path: `${api}/groups`,
      schema: groupShape,
      collection: all.groups,
      ...access,
      style: "create",
      idPath: "name",
      idOf: ({ name }) => name,
      withId: (group) => group,
      check: () => [],
      checkUnused: (name) => refuseUsed("group", usesOfGroup(all, tokens, name)),
    }),
    ...routesOf<TelemetryRule>({
      name: "telemetryRule",
      plural: "telemetryRules",
      path: `${api}/telemetry-rules`,
      schema: telemetryRuleShape,
      collection: all.telemetryRules,
      ...access,
      ...createdById,
      check: (rule, path) => warnUnknownGroups(all, rule.groups, path),
    }),
    ...routesOf<ResourceRule>({
      name: "resourceRule",
      plural: "resourceRules",
      path: `${api}/resource-rules`,
      schema: resourceRuleShape,
      collection: all.resourceRules,
      ...access,
      ...createdById,
      check: (rule, path) => [...warnUnknownGroups(all, rule.groups, path), ...warnIdlePaths(rule, path)],
    }),
  ];
}

function titleOrId({ displayName, id }: { displayName?: string | undefined; id?: string | undefined }) {
  return displayName ?? id;
}

const api = "/api/v1";
const operated = { read: "search", write: "configure" } as const;
const guarded = { read: "configure", write: "configure" } as const;
const access = { read: "manage access", write: "manage access" } as const;

/** Members of a kind whose id is a top-level field. */
const createdById = {
  style: "create",
  idPath: "id",
  idOf: ({ id }: { id?: string | undefined }) => id,
  withId: <T extends { id?: string | undefined }>(value: T, id: string): T => ({ ...value, id }),
} as const;

/** Members of a kind whose id is in its metadata. */
const upsertedByMetadata = {
  style: "upsert",
  idPath: "metadata.id",
  idOf: ({ metadata }: { metadata: { id?: string | undefined } }) => metadata.id,
  withId: <T extends { metadata: { id?: string | undefined } }>(value: T, id: string): T => {
    return { ...value, metadata: { ...value.metadata, id } };
  },
} as const;

function makeAlertKind(
  { alerts }: Collections,
  scope: AuthorizationScope,
  rights: ChangeRights,
  delivery: DeliveryKnowledge,
): ResourceKind<Alert> {
  return {
    name: "alert",
    plural: "alerts",
    path: `${api}/alerts`,
    schema: alertShape,
    collection: alerts,
    ...operated,
    ...upsertedByMetadata,
    check: (alert, path, by) => [
      ...checkAlert(alert, path, (id) => scope.canName(by, "webhooks", id)),
      ...delivery.undeliverable(alert, path),
    ],
    findChangeProblem: (_, stored, by) => rights.findAlertProblem(stored, by),
    restoreSecrets: restoreAlertSecrets,
    hideSecrets: (alert, canWrite) => (canWrite ? alert : hideAlertSecrets(alert)),
  };
}

function makeDashboardKind({ dashboards }: Collections): ResourceKind<Dashboard> {
  return {
    name: "dashboard",
    plural: "dashboards",
    path: `${api}/dashboards`,
    schema: dashboardShape,
    collection: dashboards,
    ...operated,
    ...upsertedByMetadata,
    check: (dashboard, path) => {
      if (dashboard.metadata.folderPath?.startsWith(managedFolder)) {
        const where = `${path}.metadata.folderPath`;
        throw new Refusal(400, `${where}: ${managedFolder} is for what Kubernetes manages`);
      }
      return checkDashboard(dashboard, path);
    },
    summarize: ({ metadata, settings }) => ({ metadata, settings }),
  };
}

function makeWebhookKind(
  { routes, webhooks }: Collections,
  scope: AuthorizationScope,
  rights: ChangeRights,
  delivery: DeliveryKnowledge,
): ResourceKind<Webhook> {
  return {
    name: "webhook",
    plural: "webhooks",
    path: `${api}/webhooks`,
    schema: webhookShape,
    collection: webhooks,
    ...operated,
    ...createdById,
    check: (webhook, path) => {
      checkWebhook(webhook, path);
      return [];
    },
    restoreSecrets: restoreWebhookSecrets,
    hideSecrets: hideWebhookSecrets,
    extraMembers: ({ id = "", secret }) => ({
      hasSecret: typeof secret === "string",
      switchedOff: delivery.isWebhookOff(id),
    }),
    findChangeProblem: (id, _, by) => rights.findWebhookProblem(id, by),
    checkUnused: (id, by) => {
      const ofRoutes = routesUsing(routes, id).map((route) => {
        return by.role === "admin" ? `the route ${JSON.stringify(route.id)}` : "a route";
      });
      const ofAlerts = rights.alertsUsing(id).map((alert) => {
        return scope.canSee(by, "alerts", alert.value)
          ? `the alert ${JSON.stringify(alert.id)}`
          : "an alert that you may not see";
      });
      refuseUsed("webhook", [...ofRoutes, ...ofAlerts]);
    },
  };
}

function makeSilenceKind(
  { silences }: Collections,
  scope: AuthorizationScope,
  rights: ChangeRights,
): ResourceKind<Silence> {
  return {
    name: "silence",
    plural: "silences",
    path: `${api}/silences`,
    schema: silenceShape,
    collection: silences,
    ...operated,
    ...createdById,
    check: (silence, path, by) => {
      checkSilence(silence, path);
      rights.checkSilence(silence, path, by);
      return (silence.alertIds ?? []).flatMap((id, i) => {
        if (scope.canName(by, "alerts", id)) return [];
        return [`${path}.alertIds[${i}] names the alert ${JSON.stringify(id)}, which does not exist`];
      });
    },
    findChangeProblem: (_, stored, by) => rights.findSilenceProblem(stored, by),
  };
}

/** Warnings about groups that do not exist: a group may be created after the rule that names it. */
function warnUnknownGroups({ groups }: Collections, named: readonly string[], path: string): string[] {
  return named.flatMap((name, i) => {
    if (groups.get(name) !== undefined) return [];
    return [`${path}.groups[${i}] names the group ${JSON.stringify(name)}, which does not exist yet`];
  });
}
