/** Turns the `spec` of each kind of custom resource into a resource of the control plane. */

import type * as z from "zod";
import { checkInput } from "../../api/validation.ts";
import type { Collection } from "../../control/collection.ts";
import type { Collections } from "../../control/resource-kinds.ts";
import type { ResourceRule, TelemetryRule } from "../../model/access-rules.ts";
import { type Alert, checkAlert } from "../../model/alert.ts";
import { checkDashboard, type Dashboard, managedFolder } from "../../model/dashboard.ts";
import type { IngestionRule } from "../../model/ingestion-rule.ts";
import { checkIngestionRule } from "../../model/ingestion-rule-check.ts";
import { isManaged, managedId } from "../../model/resource-id.ts";
import { checkWebhook, type Webhook } from "../../model/webhook.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { KindName } from "../resources/custom-kinds.ts";
import {
  alertSpec,
  clusterResourceRuleSpec,
  dashboardSpec,
  groupSpec,
  ingestionRuleSpec,
  namespaceResourceRuleSpec,
  telemetryRuleSpec,
  webhookSpec,
} from "../resources/specs.ts";

/** Which object a resource is made of. */
interface ObjectName {
  /** From the exporter's token, never from the object. */
  cluster: string;
  /** Empty for objects without a namespace. */
  namespace: string;
  name: string;
}

/** A resource made of an object, and what people should know about it. */
interface MadeResource<T = unknown> {
  value: T;
  warnings: string[];
}

export interface SyncedKind<T = unknown> {
  collection: Collection<T>;
  idOf(object: ObjectName): string;
  /** Throws Refusal 400 naming the field below `spec`. */
  make(spec: unknown, object: ObjectName): MadeResource<T>;
}

/** Every kind by its name. */
export function syncedKindsOf(collections: Collections): Record<KindName, SyncedKind> {
  const { alerts, dashboards, webhooks, groups, telemetryRules, resourceRules, ingestionRules } = collections;
  const shared = { idOf: ({ cluster, namespace, name }: ObjectName) => managedId(cluster, namespace, name) };
  const hasGroup = (name: string) => groups.get(name) !== undefined;
  const hasWebhook = (cluster: string) => (id: string) => {
    const stored = webhooks.get(id);
    return stored !== undefined && (!isManaged(id) || stored.managed?.cluster === cluster);
  };
  const kinds = {
    SvcAlert: kindOf<Alert>({
      ...shared,
      collection: alerts,
      make: (sent, object) => makeAlert(check(alertSpec, sent), object, hasWebhook(object.cluster)),
    }),
    SvcDashboard: kindOf<Dashboard>({
      ...shared,
      collection: dashboards,
      make: (sent, object) => makeDashboard(check(dashboardSpec, sent), object),
    }),
    SvcWebhook: kindOf<Webhook>({
      ...shared,
      collection: webhooks,
      make: (sent, object) => makeWebhook(check(webhookSpec, sent), object),
    }),
    SvcClusterIngestionRule: kindOf<IngestionRule>({
      ...shared,
      collection: ingestionRules,
      make: (sent, object) => makeIngestionRule(check(ingestionRuleSpec, sent), object),
    }),
    SvcGroup: kindOf({
      collection: groups,
      idOf: ({ name }) => name,
      make: (sent, { name }) => ({ value: { name, ...check(groupSpec, sent) }, warnings: [] }),
    }),
    SvcNamespaceTelemetryRule: kindOf<TelemetryRule>({
      ...shared,
      collection: telemetryRules,
      make: (sent, object) => {
        const { namespace } = object;
        const spec = check(telemetryRuleSpec, sent);
        return {
          value: { type: "namespace", ...boundsOf(object), namespace, ...spec },
          ...warn(spec, hasGroup),
        };
      },
    }),
    SvcClusterTelemetryRule: kindOf<TelemetryRule>({
      ...shared,
      collection: telemetryRules,
      make: (sent, object) => {
        const spec = check(telemetryRuleSpec, sent);
        return { value: { type: "cluster", ...boundsOf(object), ...spec }, ...warn(spec, hasGroup) };
      },
    }),
    SvcNamespaceResourceRule: kindOf<ResourceRule>({
      ...shared,
      collection: resourceRules,
      make: (sent, object) => {
        const { namespace } = object;
        const spec = check(namespaceResourceRuleSpec, sent);
        return {
          value: { type: "namespace", ...boundsOf(object), namespace, ...spec },
          ...warn(spec, hasGroup),
        };
      },
    }),
    SvcClusterResourceRule: kindOf<ResourceRule>({
      ...shared,
      collection: resourceRules,
      make: (sent, object) => {
        const spec = check(clusterResourceRuleSpec, sent);
        return { value: { type: "cluster", ...boundsOf(object), ...spec }, ...warn(spec, hasGroup) };
      },
    }),
  };
  return kinds;
}

/** Forgets the type of the values: what `make` returns is what its own collection holds. */
function kindOf<T>(kind: SyncedKind<T>): SyncedKind {
  return kind as unknown as SyncedKind;
}

function check<S extends z.ZodType>(schema: S, spec: unknown): z.infer<S> {
  return checkInput(schema, spec, "spec");
}

function makeAlert(
  { displayName, description, aiInvestigateOnFire, timeseries }: z.infer<typeof alertSpec>,
  { cluster, namespace, name }: ObjectName,
  hasWebhook: (id: string) => boolean,
): MadeResource<Alert> {
  const value: Alert = {
    metadata: {
      name: displayName ?? name,
      ...(description === undefined ? {} : { description }),
      id: managedId(cluster, namespace, name),
    },
    type: "timeseries",
    ...(aiInvestigateOnFire === undefined ? {} : { investigateOnFire: aiInvestigateOnFire }),
    timeseries,
  };
  return { value, warnings: checkAlert(value, "spec", hasWebhook) };
}

function makeDashboard(
  { title, settings, content }: z.infer<typeof dashboardSpec>,
  { cluster, namespace, name }: ObjectName,
): MadeResource<Dashboard> {
  const value: Dashboard = {
    ...(settings === undefined ? {} : { settings }),
    metadata: {
      id: managedId(cluster, namespace, name),
      title: title ?? name,
      folderPath: `${managedFolder}${cluster}/${namespace}/`,
    },
    ...(content === undefined ? {} : { content }),
  };
  return { value, warnings: checkDashboard(value, "spec") };
}

function makeWebhook(
  spec: z.infer<typeof webhookSpec>,
  { cluster, namespace, name }: ObjectName,
): MadeResource<Webhook> {
  const { displayName = name, body = "", headers = {}, headersFrom = {} } = spec;
  const value: Webhook = { id: managedId(cluster, namespace, name), ...spec, displayName };
  checkWebhook(value, "spec");
  if (body !== "" && spec.bodyFrom !== undefined)
    refuseSpec("spec.bodyFrom and spec.body exclude each other");
  const names = Object.keys(headers).map((each) => each.toLowerCase());
  const twice = Object.keys(headersFrom).find((each) => names.includes(each.toLowerCase()));
  if (twice !== undefined) refuseSpec(`spec.headersFrom and spec.headers both have ${JSON.stringify(twice)}`);
  return { value, warnings: [] };
}

function makeIngestionRule(
  { rules }: z.infer<typeof ingestionRuleSpec>,
  { cluster, namespace, name }: ObjectName,
): MadeResource<IngestionRule> {
  const value: IngestionRule = {
    id: managedId(cluster, namespace, name),
    displayName: name.slice(0, 200),
    cluster,
    rules,
  };
  checkIngestionRule(value, "spec");
  const warnings = rules.flatMap(({ match, signals }, i) =>
    match === undefined
      ? [`spec.rules[${i}] has no match: all ${signals.join(" and ")} of the cluster are dropped`]
      : [],
  );
  return { value, warnings };
}

/** What every rule of access that an object makes holds for. */
function boundsOf({ cluster, namespace, name }: ObjectName) {
  return { id: managedId(cluster, namespace, name), displayName: name.slice(0, 200), cluster };
}

/** Warns about groups that do not exist: a group may come after the rule. */
function warn({ groups }: { groups: readonly string[] }, hasGroup: (name: string) => boolean) {
  const warnings = groups.flatMap((name, i) =>
    hasGroup(name)
      ? []
      : [`spec.groups[${i}] names the group ${JSON.stringify(name)}, which does not exist yet`],
  );
  return { warnings };
}

function refuseSpec(problem: string): never {
  throw new Refusal(400, problem);
}
