/** The control plane: stored resources, tokens, who may see and change them, and their API. */

import { type LogRow, type Signal, type State, type Step, Turns } from "../../engine/index.ts";
import type { Visibility } from "../access/alert-visibility.ts";
import { AuthorizationScope } from "../access/authorization-scope.ts";
import { filterSteps, filterStore } from "../access/filtered-store.ts";
import { callerOfUser, withCurrentGroups } from "../access/group-membership.ts";
import { isRestricted, rowFilterOf } from "../access/row-filter.ts";
import { storeOfSaver } from "../access/saved-access.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Part } from "../api/part.ts";
import type { Route } from "../api/route.ts";
import { webhooksOf } from "../model/alert.ts";
import { type Caller, rateLimitKeyOf, type User } from "../model/caller.ts";
import { RateLimiter } from "../throttle/rate-limiter.ts";
import { Audit } from "./audit.ts";
import { routesUsing } from "./change-rights.ts";
import { type Collection, valuesOf } from "./collection.ts";
import { environmentRoutes } from "./environment-routes.ts";
import { changesBurstMax, changesPerSecondMax } from "./limits.ts";
import type { Collections, DeliveryKnowledge } from "./resource-kinds.ts";
import { openCollections, resourceKindRoutes } from "./resource-kinds.ts";
import type { ResourceContext } from "./resource-routes.ts";
import { tokenRoutes } from "./token-routes.ts";

export interface ControlOptions {
  state: State;
  tokens: Tokens;
  /** Appends rows to the logs. */
  append(rows: readonly LogRow[]): Promise<unknown>;
  now: () => number;
  log: (message: string) => void;
  delivery: DeliveryKnowledge;
}

export interface Control extends Required<Part> {
  collections: Collections;
  audit: Audit;
  /** The store behind the caller's row-level filter, by the rules of this moment. */
  storeFor(store: SearchableStore, caller: Caller): SearchableStore;
  /**
   * A query's steps behind the caller's row-level filter for the signal, by the rules of this moment. For reads that
   * several callers share.
   */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
  /**
   * The store as an alert that the caller saved may read it. Throws an Error where the caller lost access; so do the
   * store's reads.
   */
  storeOnBehalf(store: SearchableStore, caller: Caller): SearchableStore;
  /** Makes the caller for a user of the identity provider. Throws Refusal 403 for a user who is in no group. */
  memberOf(user: User & { name: string }): Caller;
  /** What callers may see and do of alerts, webhooks and dashboards. */
  scope: AuthorizationScope;
  visibility: Visibility;
  /**
   * Whether a webhook may be sent an event of an alert. Not where the alert does not name it any more, and somebody
   * changed it after the begin of the fire who may not read what the alert reads.
   */
  mayReceive(webhookId: string, event: { alertId: string; firedAtMs: number }): boolean;
}

/** How often the time of each token's last use is stored. */
const tokenUsesStoredMs = 60_000;

export function openControl(options: ControlOptions): Control {
  const { state, tokens, now, log } = options;
  const audit = new Audit(options);
  const collections = openCollections(state, audit, now);
  const storeUses = () =>
    tokens.storeUses().catch((error: Error) => log(`uses of tokens are not kept: ${error.message}`));
  let timer: NodeJS.Timeout | undefined;
  const listGroups = () => valuesOf(collections.groups);
  const scope = new AuthorizationScope({
    ...collections,
    tokens,
    listGroups,
    listResourceRules: () => valuesOf(collections.resourceRules),
    listTelemetryRules: () => valuesOf(collections.telemetryRules),
  });
  const restrictStore = (store: SearchableStore, caller: Caller) => {
    const current = withCurrentGroups(caller, listGroups);
    if (!isRestricted(current)) return store;
    const rules = valuesOf(collections.telemetryRules);
    return filterStore(store, (signal) => rowFilterOf(current, rules, signal));
  };
  return {
    collections,
    audit,
    routes: routesOf(options, collections, audit, scope),
    scope,
    visibility: visibilityOf(collections, scope),
    mayReceive: (webhookId, event) => mayReceive(collections, scope, webhookId, event),
    storeFor: restrictStore,
    storeOnBehalf: (store, caller) =>
      storeOfSaver(
        store,
        withCurrentGroups(caller, listGroups),
        tokens,
        valuesOf(collections.telemetryRules),
      ),
    memberOf: (user) => callerOfUser(user, listGroups()),
    stepsFor: (caller, signal, steps) => {
      const current = withCurrentGroups(caller, listGroups);
      if (!isRestricted(current)) return [...steps];
      return filterSteps(rowFilterOf(current, valuesOf(collections.telemetryRules), signal), steps);
    },
    run: () => {
      timer = setInterval(storeUses, tokenUsesStoredMs);
      void parseAll([collections.groups, collections.telemetryRules, collections.resourceRules]);
    },
    close: async () => {
      clearInterval(timer);
      await audit.close();
      await storeUses();
    },
  };
}

/** Parses in turns what the first request of a restricted caller would otherwise parse in one. */
async function parseAll(collections: readonly Collection<unknown>[]): Promise<void> {
  const turns = new Turns();
  for (const collection of collections) {
    for (const entry of collection.list()) {
      void entry.value;
      if (turns.isOver) await turns.next();
    }
  }
}

function mayReceive(
  { alerts, routes, webhooks }: Collections,
  scope: AuthorizationScope,
  webhookId: string,
  { alertId, firedAtMs }: Parameters<Control["mayReceive"]>[1],
): boolean {
  const webhook = webhooks.get(webhookId);
  if (webhook === undefined || webhook.updatedAtMs <= firedAtMs) return true;
  if (scope.isUnrestricted(webhook.updatedBy)) return true;
  // Only admins make routes, and nobody who is restricted changes a webhook that a route names.
  if (routesUsing(routes, webhookId).length > 0) return true;
  const alert = alerts.get(alertId);
  if (alert === undefined) return false;
  const isNamed = webhooksOf(alert.value).some(({ id }) => id === webhookId);
  return isNamed || scope.canReadRowsOf(webhook.updatedBy, alert);
}

function visibilityOf({ alerts, webhooks }: Collections, scope: AuthorizationScope): Visibility {
  return {
    *alertsOf(caller) {
      for (const { id, value: stored } of alerts.list()) {
        if (!scope.canSee(caller, "alerts", stored)) continue;
        const { value, managed, updatedBy } = stored;
        yield {
          id,
          name: value.metadata.name,
          managed,
          isWhole: () => scope.canReadAllOf(caller, updatedBy),
        };
      }
    },
    alertOf: (id, caller) => {
      const stored = alerts.get(id);
      if (stored === undefined || !scope.canSee(caller, "alerts", stored)) return undefined;
      return {
        alert: stored.value,
        canNotify: scope.canUse(caller, "alerts", "update", "configure", stored),
        canResend: scope.canReadRowsOf(caller, stored),
        isWhole: scope.canReadAllOf(caller, stored.updatedBy),
      };
    },
    webhookOf: (id, caller) => {
      const stored = webhooks.get(id);
      if (stored === undefined || !scope.canSee(caller, "webhooks", stored)) return undefined;
      return { canNotify: scope.canUse(caller, "webhooks", "update", "configure", stored) };
    },
  };
}

function routesOf(
  { tokens, now, delivery }: ControlOptions,
  collections: Collections,
  audit: Audit,
  scope: AuthorizationScope,
): Route[] {
  const rate = new RateLimiter({
    perSecond: changesPerSecondMax,
    burst: changesBurstMax,
    what: "changes",
    elapsed: () => performance.now(),
  });
  const limitRate = (caller: Caller) => rate.spend(rateLimitKeyOf(caller));
  const context: ResourceContext = { limitRate, scope };
  const isEnvironment = (name: string) => collections.environments.get(name) !== undefined;
  return [
    ...resourceKindRoutes(collections, tokens, context, delivery),
    ...environmentRoutes(collections, tokens, audit, context),
    ...tokenRoutes({
      ...{ tokens, audit, now, limitRate, isEnvironment },
      alertsSavedBy: (tokenId) =>
        collections.alerts
          .list()
          .filter(({ value }) => value.updatedBy.tokenId === tokenId)
          .map(({ id, value }) => ({ id, name: value.value.metadata.name })),
      deleteAlert: async (id, by) => void (await collections.alerts.remove(id, { by, ifMatch: null })),
    }),
  ];
}
