/** The control plane: what is configured, who may configure it, and the API of it. */

import * as z from "zod";
import type { LogRow, Signal, State, Step } from "../../engine/index.ts";
import { changesBurstMax, changesPerSecondMax } from "../limits.ts";
import type { Caller, Route, ServerRequest } from "../route.ts";
import { jsonReply } from "../route.ts";
import type { Searchable } from "../searchable.ts";
import { fixed } from "../shape.ts";
import { managedKinds, type Verb } from "./access-rule.ts";
import { Audit } from "./audit.ts";
import type { Collections } from "./catalogue.ts";
import {
  alertResource,
  dashboardResource,
  groupResource,
  ingestionRuleResource,
  openCollections,
  resourceRuleResource,
  silenceResource,
  telemetryRuleResource,
  webhookResource,
} from "./catalogue.ts";
import type { Stored } from "./collection.ts";
import { environmentRoutes } from "./environment-routes.ts";
import { mayUseManaged } from "./grants.ts";
import { isBound, readable } from "./narrowing.ts";
import { RateBound } from "./rate-bound.ts";
import { narrowedSteps, type Readable, readableStore } from "./readable-store.ts";
import type { Resource, ResourceEdge } from "./resource-routes.ts";
import { resourceRoutes } from "./resource-routes.ts";
import { tokenRoutes } from "./token-routes.ts";
import type { Tokens } from "./tokens.ts";

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

export interface Control {
  collections: Collections;
  audit: Audit;
  routes: Route[];
  /** The store as the caller sees it. */
  storeFor(store: Searchable, caller: Caller): Searchable;
  /** The steps of a query as the caller sees the rows of a signal, by the rules of this moment: for reads that several callers share. */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
  close(): Promise<void>;
}

/** How often it is written down when tokens were used. */
const usesKeptMs = 60_000;

export function openControl(options: ControlOptions): Control {
  const { state, tokens, now, log } = options;
  const audit = new Audit(options);
  const collections = openCollections(state, audit, now);
  const keepUses = () =>
    tokens.keepUses().catch((error: Error) => log(`uses of tokens are not kept: ${error.message}`));
  const timer = setInterval(keepUses, usesKeptMs);
  return {
    collections,
    audit,
    routes: routesOf(options, collections, audit),
    storeFor: (store, caller) => {
      return isBound(caller) ? readableStore(store, readableBy(caller, collections)) : store;
    },
    stepsFor: (caller, signal, steps) => {
      return isBound(caller) ? narrowedSteps(readableBy(caller, collections)(signal), steps) : [...steps];
    },
    close: async () => {
      clearInterval(timer);
      await audit.close();
      await keepUses();
    },
  };
}

function readableBy(caller: Caller, { telemetryRules }: Collections): Readable {
  const rules = telemetryRules.list().map(([, { value }]) => value);
  return (signal) => readable(caller, rules, signal);
}

function routesOf({ tokens, now, syncDashboards }: ControlOptions, all: Collections, audit: Audit): Route[] {
  const edge: ResourceEdge = {
    rate: new RateBound(changesPerSecondMax, changesBurstMax, now),
    mayUse: (request, plural, verb, stored) => mayUse(all, request, plural, verb, stored),
  };
  const of = <T>(resource: Resource<T>) => resourceRoutes(resource, edge);
  const isEnvironment = (name: string) => all.environments.get(name) !== undefined;
  return [
    syncRoute(syncDashboards),
    ...of(alertResource(all)),
    ...of(dashboardResource(all)),
    ...environmentRoutes(all.environments, tokens, edge),
    ...of(webhookResource(all)),
    ...of(silenceResource(all)),
    ...of(ingestionRuleResource(all)),
    ...tokenRoutes({ tokens, audit, now, rate: edge.rate, isEnvironment }),
    ...of(groupResource(all)),
    ...of(telemetryRuleResource(all)),
    ...of(resourceRuleResource(all)),
  ];
}

function mayUse(
  { resourceRules }: Collections,
  { caller }: ServerRequest,
  plural: string,
  verb: Verb,
  { managed }: Stored<unknown>,
): boolean {
  const kind = managedKinds.find((each) => each === plural);
  if (kind === undefined || managed === undefined) return true;
  const rules = resourceRules.list().map(([, { value }]) => value);
  return mayUseManaged(caller, rules, kind, verb, managed);
}

function syncRoute(sync: (() => void) | null): Route {
  return {
    method: "GET",
    path: "/api/v1/dashboards/sync",
    permission: "configure",
    body: null,
    deadlineMs: 10_000,
    description: {
      summary: "Reads the dashboards of Kubernetes sources now",
      tag: "dashboards",
      response: fixed({ message: z.string() }),
    },
    answer: async () => {
      if (sync === null) {
        return jsonReply({ message: "No Kubernetes source is configured: there is nothing to synchronise." });
      }
      sync();
      return jsonReply({ message: "The synchronisation of dashboards from Kubernetes was triggered." });
    },
  };
}
