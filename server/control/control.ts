/** The control plane: what is configured, who may configure it, and the API of it. */

import * as z from "zod";
import type { LogRow, Signal, State, Step } from "../../engine/index.ts";
import { AuthorizationScope } from "../access/authorization-scope.ts";
import { filteredSteps, filteredStore } from "../access/filtered-store.ts";
import { callerOfUser, withCurrentGroups } from "../access/group-membership.ts";
import { isRestricted, rowFilterOf } from "../access/row-filter.ts";
import { storeOfSaver } from "../access/saved-access.ts";
import type { SearchableStore } from "../access/searchable.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Visibility } from "../access/visibility.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Part } from "../api/part.ts";
import type { Route } from "../api/route.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import type { Caller, User } from "../model/caller.ts";
import { strictObject } from "../model/schema.ts";
import { Audit } from "./audit.ts";
import { valuesOf } from "./collection.ts";
import { environmentRoutes } from "./environment-routes.ts";
import { changesBurstMax, changesPerSecondMax } from "./limits.ts";
import type { Collections } from "./resource-kinds.ts";
import { openCollections, resourceKindRoutes } from "./resource-kinds.ts";
import type { ResourceContext } from "./resource-routes.ts";
import { tokenRoutes } from "./token-routes.ts";

export interface ControlOptions {
  state: State;
  tokens: Tokens;
  /** Appends rows to the logs. */
  append(rows: readonly LogRow[]): Promise<unknown>;
  /** Starts to read dashboards from Kubernetes; null where no such source is configured. */
  syncDashboards: (() => void) | null;
  now: () => number;
  log: (message: string) => void;
}

export interface Control extends Part {
  collections: Collections;
  audit: Audit;
  /** The store as the caller sees it now. */
  storeFor(store: SearchableStore, caller: Caller): SearchableStore;
  /** The steps of a query as the caller sees the rows of a signal, by the rules of this moment: for reads that several callers share. */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
  /** The same for an alert that the caller saved. Throws an Error where access was lost, and so do its reads. */
  storeOnBehalf(store: SearchableStore, caller: Caller): SearchableStore;
  /** The caller that a token of the identity provider stands for. Throws Refusal 403 for one whom no group takes in. */
  memberOf(user: User & { name: string }): Caller;
  /** What of alerts, webhooks and dashboards the caller may see and do. */
  scope: AuthorizationScope;
  visibility: Visibility;
}

/** How often it is written down when tokens were used. */
const usesKeptMs = 60_000;

export function openControl(options: ControlOptions): Control {
  const { state, tokens, now, log } = options;
  const audit = new Audit(options);
  const collections = openCollections(state, audit, now);
  const keepUses = () =>
    tokens.storeUses().catch((error: Error) => log(`uses of tokens are not kept: ${error.message}`));
  let timer: NodeJS.Timeout | undefined;
  const groups = () => valuesOf(collections.groups);
  const scope = new AuthorizationScope({
    ...collections,
    listGroups: groups,
    listResourceRules: () => valuesOf(collections.resourceRules),
  });
  const narrowed = (store: SearchableStore, caller: Caller) => {
    const now = withCurrentGroups(caller, groups);
    if (!isRestricted(now)) return store;
    const rules = valuesOf(collections.telemetryRules);
    return filteredStore(store, (signal) => rowFilterOf(now, rules, signal));
  };
  return {
    collections,
    audit,
    routes: routesOf(options, collections, audit, scope),
    scope,
    visibility: visibilityOf(collections, scope),
    storeFor: (store, caller) => narrowed(store, caller),
    storeOnBehalf: (store, caller) =>
      storeOfSaver(store, withCurrentGroups(caller, groups), tokens, valuesOf(collections.telemetryRules)),
    memberOf: (user) => callerOfUser(user, groups()),
    stepsFor: (caller, signal, steps) => {
      const now = withCurrentGroups(caller, groups);
      if (!isRestricted(now)) return [...steps];
      return filteredSteps(rowFilterOf(now, valuesOf(collections.telemetryRules), signal), steps);
    },
    run: () => {
      timer = setInterval(keepUses, usesKeptMs);
    },
    close: async () => {
      clearInterval(timer);
      await audit.close();
      await keepUses();
    },
  };
}

function visibilityOf({ alerts, webhooks }: Collections, scope: AuthorizationScope): Visibility {
  return {
    alertOf: (id, caller) => {
      const stored = alerts.get(id);
      if (stored === undefined || !scope.canSee(caller, "alerts", stored)) return undefined;
      return {
        alert: stored.value,
        canNotify: scope.canUse(caller, "alerts", "update", "configure", stored),
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
  { tokens, now, syncDashboards }: ControlOptions,
  all: Collections,
  audit: Audit,
  scope: AuthorizationScope,
): Route[] {
  const context: ResourceContext = {
    rate: new RateLimiter({ perSecond: changesPerSecondMax, burst: changesBurstMax, what: "changes", now }),
    scope,
  };
  const isEnvironment = (name: string) => all.environments.get(name) !== undefined;
  return [
    syncRoute(syncDashboards),
    ...resourceKindRoutes(all, context),
    ...environmentRoutes(all.environments, tokens, context),
    ...tokenRoutes({ tokens, audit, now, rate: context.rate, isEnvironment }),
  ];
}

function syncRoute(sync: (() => void) | null): Route {
  return defineRoute({
    method: "GET",
    path: "/api/v1/dashboards/sync",
    permission: "configure",
    summary: "Reads the dashboards of Kubernetes sources now",
    tag: "dashboards",
    response: strictObject({ message: z.string() }),
    handle: async () => {
      if (sync === null) {
        return { message: "No Kubernetes source is configured: there is nothing to synchronise." };
      }
      sync();
      return { message: "The synchronisation of dashboards from Kubernetes was triggered." };
    },
  });
}
