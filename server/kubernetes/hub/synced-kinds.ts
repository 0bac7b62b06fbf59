/** Turns the `spec` of each kind of custom resource into a resource of the control plane. */

import type * as z from "zod";
import { checkInput } from "../../api/validation.ts";
import type { Collection } from "../../control/collection.ts";
import type { Collections } from "../../control/resource-kinds.ts";
import type { Group, ResourceRule, TelemetryRule } from "../../model/access-rules.ts";
import { type Alert, alertShape, checkAlert } from "../../model/alert.ts";
import { checkDashboard, type Dashboard, dashboardShape, managedFolder } from "../../model/dashboard.ts";
import type { IngestionRule } from "../../model/ingestion-rule.ts";
import { checkIngestionRule } from "../../model/ingestion-rule-check.ts";
import { isManaged, managedId } from "../../model/resource-id.ts";
import { checkWebhook, type Webhook } from "../../model/webhook.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { customKind, type KindName } from "../resources/custom-kinds.ts";
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

/** What an exporter sends: custom resources, and documents of ConfigMaps. */
export type SyncedKindName = KindName | (typeof configMapKinds)[number];

export const configMapKinds = ["ConfigMapAlert", "ConfigMapDashboard"] as const;

/** Whether objects of a kind have a namespace. */
export function hasNamespace(kind: SyncedKindName): boolean {
  return isConfigMapKind(kind) || customKind(kind).scope === "Namespaced";
}

function isConfigMapKind(kind: SyncedKindName): kind is (typeof configMapKinds)[number] {
  return (configMapKinds as readonly string[]).includes(kind);
}

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
export function syncedKindsOf(collections: Collections): Record<SyncedKindName, SyncedKind> {
  const { alerts, dashboards, webhooks, groups, telemetryRules, resourceRules, ingestionRules } = collections;
  const makers = makersOf({
    hasGroup: (name) => groups.get(name) !== undefined,
    hasWebhook: (cluster) => (id) => {
      const stored = webhooks.get(id);
      return stored !== undefined && (!isManaged(id) || stored.managed?.cluster === cluster);
    },
  });
  const kindOf = <T>(name: SyncedKindName, collection: Collection<T>): SyncedKind =>
    // Forgets the type of the values: what `make` returns is what its own collection holds.
    ({
      collection,
      make: makers[name],
      idOf: ({ cluster, namespace, name: own }: ObjectName) =>
        name === "SvcGroup" ? own : managedId(cluster, namespace, own),
    }) as unknown as SyncedKind;
  return {
    SvcAlert: kindOf("SvcAlert", alerts),
    SvcDashboard: kindOf("SvcDashboard", dashboards),
    ConfigMapAlert: kindOf("ConfigMapAlert", alerts),
    ConfigMapDashboard: kindOf("ConfigMapDashboard", dashboards),
    SvcWebhook: kindOf("SvcWebhook", webhooks),
    SvcClusterIngestionRule: kindOf("SvcClusterIngestionRule", ingestionRules),
    SvcGroup: kindOf("SvcGroup", groups),
    SvcNamespaceTelemetryRule: kindOf("SvcNamespaceTelemetryRule", telemetryRules),
    SvcClusterTelemetryRule: kindOf("SvcClusterTelemetryRule", telemetryRules),
    SvcNamespaceResourceRule: kindOf("SvcNamespaceResourceRule", resourceRules),
    SvcClusterResourceRule: kindOf("SvcClusterResourceRule", resourceRules),
  };
}

/** What is known of other resources when one is made. */
interface KnownResources {
  hasGroup(name: string): boolean;
  /** Whether objects of a cluster may name a webhook. */
  hasWebhook(cluster: string): (id: string) => boolean;
}

/** Makes a resource of the `spec` of an object. Throws Refusal 400 naming the field below `spec`. */
type MakeResource<T> = (spec: unknown, object: ObjectName) => MadeResource<T>;

/** What makes the resource of each kind. */
export function makersOf({ hasGroup, hasWebhook }: KnownResources) {
  return {
    SvcAlert: typed<Alert>((sent, object) =>
      makeAlert(check(alertSpec, sent), object, hasWebhook(object.cluster)),
    ),
    SvcDashboard: typed<Dashboard>((sent, object) => makeDashboard(check(dashboardSpec, sent), object)),
    ConfigMapAlert: typed<Alert>((sent, object) => makeSentAlert(sent, object, hasWebhook(object.cluster))),
    ConfigMapDashboard: typed<Dashboard>((sent, object) => makeSentDashboard(sent, object)),
    SvcWebhook: typed<Webhook>((sent, object) => makeWebhook(check(webhookSpec, sent), object)),
    SvcClusterIngestionRule: typed<IngestionRule>((sent, object) =>
      makeIngestionRule(check(ingestionRuleSpec, sent), object),
    ),
    SvcGroup: typed<Group>((sent, { name }) => ({
      value: { name, ...check(groupSpec, sent) },
      warnings: [],
    })),
    SvcNamespaceTelemetryRule: typed<TelemetryRule>((sent, object) => {
      const { namespace } = object;
      const spec = check(telemetryRuleSpec, sent);
      return {
        value: { type: "namespace", ...boundsOf(object), namespace, ...spec },
        ...warn(spec, hasGroup),
      };
    }),
    SvcClusterTelemetryRule: typed<TelemetryRule>((sent, object) => {
      const spec = check(telemetryRuleSpec, sent);
      return { value: { type: "cluster", ...boundsOf(object), ...spec }, ...warn(spec, hasGroup) };
    }),
    SvcNamespaceResourceRule: typed<ResourceRule>((sent, object) => {
      const { namespace } = object;
      const spec = check(namespaceResourceRuleSpec, sent);
      return {
        value: { type: "namespace", ...boundsOf(object), namespace, ...spec },
        ...warn(spec, hasGroup),
      };
    }),
    SvcClusterResourceRule: typed<ResourceRule>((sent, object) => {
      const spec = check(clusterResourceRuleSpec, sent);
      return { value: { type: "cluster", ...boundsOf(object), ...spec }, ...warn(spec, hasGroup) };
    }),
  } satisfies Record<SyncedKindName, MakeResource<unknown>>;
}

function typed<T>(make: MakeResource<T>): MakeResource<T> {
  return make;
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

/** A document of a ConfigMap: an alert as the API takes it, or the whole custom resource. */
function makeSentAlert(
  sent: unknown,
  object: ObjectName,
  hasWebhook: (id: string) => boolean,
): MadeResource<Alert> {
  if (isCustomResource(sent, "SvcAlert")) return makeAlert(check(alertSpec, sent.spec), object, hasWebhook);
  const read = checkInput(alertShape, sent, "alert");
  const id = managedId(object.cluster, object.namespace, object.name);
  const value: Alert = { ...read, metadata: { ...read.metadata, id } };
  return { value, warnings: checkAlert(value, "alert", hasWebhook) };
}

function makeSentDashboard(sent: unknown, object: ObjectName): MadeResource<Dashboard> {
  if (isCustomResource(sent, "SvcDashboard")) return makeDashboard(check(dashboardSpec, sent.spec), object);
  const read = checkInput(dashboardShape, sent, "dashboard");
  const { cluster, namespace, name } = object;
  const metadata = {
    ...read.metadata,
    id: managedId(cluster, namespace, name),
    folderPath: `${managedFolder}${cluster}/${namespace}/`,
  };
  const value: Dashboard = { ...read, metadata };
  return { value, warnings: checkDashboard(value, "dashboard") };
}

function isCustomResource(sent: unknown, kind: KindName): sent is { spec: unknown } {
  return typeof sent === "object" && sent !== null && "spec" in sent && "kind" in sent && sent.kind === kind;
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
