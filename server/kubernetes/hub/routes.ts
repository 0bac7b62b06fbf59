/** The routes of exporters: what their clusters' objects say, the channel, and the ingestion rules of a cluster. */

import * as z from "zod";
import { defineRoute, json } from "../../api/define-route.ts";
import type { Route } from "../../api/route.ts";
import type { Caller } from "../../model/caller.ts";
import { strictObject } from "../../model/schema.ts";
import { Refusal, tryLater } from "../../throttle/refusal.ts";
import { customKinds } from "../resources/custom-kinds.ts";
import { objectMetadata } from "../resources/specs.ts";
import type { ClusterRules } from "./cluster-rules.ts";
import type { ExporterChannel } from "./exporter-channel.ts";
import { keptNamesMax, objectsMax, pollMsMax, secretBytesMax, secretsAskedMax } from "./limits.ts";
import type { ManagedObjects, SentObject } from "./managed-objects.ts";
import { configMapKinds } from "./synced-kinds.ts";

export interface HubRoutesOptions {
  objects: ManagedObjects;
  /** Whether the token of an id is there, and not revoked. */
  hasToken: (id: string) => boolean;
  channel: ExporterChannel;
  rules: ClusterRules;
}

const path = "/api/v1/kubernetes";
const shared = { permission: "synchronize", tag: "kubernetes" } as const;

/** Kinds that exporters of monitored clusters may send. Groups come from the hub's own cluster alone. */
const monitoredKind = z.enum([
  ...customKinds.filter(({ appliedTo }) => appliedTo === "monitored").map(({ kind }) => kind),
  ...configMapKinds,
]);
const { name, namespace } = objectMetadata.shape;
const sentName = strictObject({ kind: monitoredKind, namespace, name });
/** `<namespace>/<name>`, with the greatest lengths of both. */
const sweepBound = z.string().max(320).optional();
const sentObject = strictObject({ kind: monitoredKind, metadata: objectMetadata, spec: z.unknown() });

const syncResult = z.looseObject({
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  id: z.string(),
  reason: z.string(),
  isTemporary: z.boolean(),
  message: z.string(),
});

export function hubRoutes({ objects, hasToken, channel, rules }: HubRoutesOptions): Route[] {
  return [
    defineRoute({
      ...shared,
      method: "POST",
      path: `${path}/objects`,
      summary: "Stores what custom resources of the caller's cluster say; each is taken or refused by itself",
      body: json(strictObject({ objects: z.array(sentObject).max(objectsMax) })),
      response: strictObject({ results: z.array(syncResult) }),
      deadlineMs: 60_000,
      handle: async ({ body, caller }) => {
        // With the environment its managed resources are deleted, too: nothing may be written after that.
        const check = () => refuseRevoked(hasToken, caller);
        const results = await objects.apply(clusterOf(caller), body.objects as SentObject[], check);
        return { results };
      },
    }),
    defineRoute({
      ...shared,
      method: "POST",
      path: `${path}/objects/delete`,
      summary: "Removes what these custom resources of the caller's cluster made",
      body: json(strictObject({ objects: z.array(sentName).max(objectsMax) })),
      response: strictObject({ removed: z.int() }),
      deadlineMs: 60_000,
      handle: async ({ body, caller }) => ({
        removed: await objects.remove(clusterOf(caller), body.objects),
      }),
    }),
    defineRoute({
      ...shared,
      method: "POST",
      path: `${path}/objects/sweep`,
      summary:
        "Removes what custom resources of a kind made that the caller's cluster does not have any more; where bounds are given, only those whose <namespace>/<name> is above `after` and not above `upTo`",
      body: json(
        strictObject({
          kind: monitoredKind,
          kept: z.array(strictObject({ namespace, name })).max(keptNamesMax),
          after: sweepBound,
          upTo: sweepBound,
        }),
      ),
      response: strictObject({ removed: z.int() }),
      deadlineMs: 60_000,
      handle: async ({ body, caller }) => ({
        removed: await objects.sweep(clusterOf(caller), body.kind, body.kept, body),
      }),
    }),
    defineRoute({
      ...shared,
      method: "GET",
      path: `${path}/ingestion-rules`,
      summary: "The ingestion rules of the caller's cluster",
      response: strictObject({ revision: z.string(), rules: z.array(z.unknown()) }),
      handle: async ({ caller }) => rules.of(clusterOf(caller)),
    }),
    channelRoute(channel),
    ...["dashboards", "alerts"].map((what) => syncRoute(what, channel)),
  ];
}

function channelRoute(channel: ExporterChannel): Route {
  return defineRoute({
    ...shared,
    method: "POST",
    path: `${path}/channel`,
    summary: "Waits for what the hub wants of the caller's cluster, and brings what it asked for",
    body: json(
      strictObject({
        exporter: z.string().min(1).max(100),
        secretRefs: z.boolean(),
        synchronisations: z.int().min(0),
        rulesRevision: z.string().max(200).optional(),
        secrets: z
          .array(
            strictObject({
              id: z.string().max(100),
              value: z.string().max(secretBytesMax).optional(),
              problem: z.string().max(1_000).optional(),
            }),
          )
          .max(secretsAskedMax),
      }),
    ),
    response: strictObject({
      secrets: z.array(
        strictObject({ id: z.string(), namespace: z.string(), name: z.string(), key: z.string() }),
      ),
      synchronisations: z.int(),
      rulesRevision: z.string(),
    }),
    deadlineMs: 2 * pollMsMax,
    handle: ({ body, caller, signal }) => channel.poll(clusterOf(caller), body, signal),
  });
}

function syncRoute(what: string, channel: ExporterChannel): Route {
  return defineRoute({
    method: "GET",
    path: `/api/v1/${what}/sync`,
    permission: "configure",
    summary: `Synchronises ${what} with their Kubernetes sources now: custom resources and ConfigMaps`,
    tag: what,
    response: strictObject({ message: z.string() }),
    handle: async () => {
      const clusters = channel.synchronise();
      const away = channel.clusters().filter(({ isPresent }) => !isPresent);
      if (clusters.length + away.length === 0)
        return { message: "No cluster's exporter is connected: there is nothing to synchronise." };
      const triggered = `The synchronisation of ${what} from Kubernetes was triggered in ${listOf(clusters)}.`;
      const missing = `${listOf(away.map(({ cluster }) => cluster))}: the exporter is away, and synchronises when it is back.`;
      return {
        message: [clusters.length > 0 ? triggered : "", away.length > 0 ? missing : ""]
          .filter(Boolean)
          .join(" "),
      };
    },
  });
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? "no cluster" : names.join(", ");
}

/** Throws Refusal 503 where the token of a request was revoked meanwhile, as its environment is deleted. */
function refuseRevoked(hasToken: HubRoutesOptions["hasToken"], { tokenId }: Caller): void {
  if (tokenId !== null && !hasToken(tokenId))
    throw tryLater("the token was revoked: nothing more is taken with it", 5);
}

/** The cluster of an exporter: the environment of its token. Throws Refusal 403. */
function clusterOf({ environment }: Caller): string {
  if (environment === null)
    throw new Refusal(403, "an exporter needs the token of an environment, which is its cluster's name");
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(environment)) {
    throw new Refusal(
      403,
      `the environment ${JSON.stringify(environment)} cannot be a cluster: its name must have lower-case letters, digits and - alone, 63 at most`,
    );
  }
  return environment;
}
