/** Makes custom resources of what stands in a hub. Pure functions. */

import { stringify } from "yaml";
import { secretPlaceholder } from "../../control/hidden-secrets.ts";
import type { Group, ResourceRule, TelemetryRule } from "../../model/access-rules.ts";
import type { Alert } from "../../model/alert.ts";
import type { Dashboard } from "../../model/dashboard.ts";
import type { IngestionRule } from "../../model/ingestion-rule.ts";
import { isManaged, managedId } from "../../model/resource-id.ts";
import type { Webhook } from "../../model/webhook.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { makersOf } from "../hub/synced-kinds.ts";
import { apiGroups, apiVersion, customKind, type KindName } from "../resources/custom-kinds.ts";

/** What the hub has, as its API shows it. */
export interface HubResources {
  alerts: Alert[];
  dashboards: Dashboard[];
  webhooks: Webhook[];
  ingestionRules: IngestionRule[];
  groups: Group[];
  telemetryRules: TelemetryRule[];
  resourceRules: ResourceRule[];
}

export interface ExportOptions {
  /** For objects that do not say one. */
  namespace: string;
  /** The cluster that the objects are meant for: alerts name webhooks by it, and rules of others are left out. */
  cluster: string | undefined;
}

interface ExportedManifest {
  kind: KindName;
  /** A YAML document, with what is to be known in comments. */
  text: string;
}

interface Made {
  kind: KindName;
  id: string;
  /** What its name is made of. */
  title: string;
  namespace?: string;
  spec: object;
  /** What the custom resource cannot say. */
  notes: string[];
}

export interface Exported {
  manifests: ExportedManifest[];
  /** What cannot be a custom resource, each with the reason. */
  leftOut: string[];
}

const makers = makersOf({ hasGroup: () => true, hasWebhook: () => () => true });

export function exportManifests(resources: HubResources, options: ExportOptions): Exported {
  const exporter = new ManifestExporter(options);
  for (const webhook of resources.webhooks) exporter.addWebhook(webhook);
  for (const alert of resources.alerts) exporter.addAlert(alert);
  for (const dashboard of resources.dashboards) exporter.addDashboard(dashboard);
  for (const rule of resources.ingestionRules) exporter.addIngestionRule(rule);
  for (const group of resources.groups) exporter.addGroup(group);
  for (const rule of resources.telemetryRules)
    exporter.addRule(rule, "SvcNamespaceTelemetryRule", "SvcClusterTelemetryRule");
  for (const rule of resources.resourceRules)
    exporter.addRule(rule, "SvcNamespaceResourceRule", "SvcClusterResourceRule");
  return exporter.result;
}

class ManifestExporter {
  readonly result: Exported = { manifests: [], leftOut: [] };
  readonly #options: ExportOptions;
  readonly #names = new Set<string>();
  /** Ids that webhooks have as objects, by the ids that they have now. */
  readonly #webhookIds = new Map<string, string>();

  constructor(options: ExportOptions) {
    this.#options = options;
  }

  addWebhook({ id = "", displayName, secret, ...spec }: Webhook): void {
    const { cluster } = this.#options;
    const notes = [
      ...(secret == null
        ? []
        : ["The signing secret is not in custom resources: sign by a header from a Secret."]),
      ...(Object.keys(spec.headers ?? {}).length === 0
        ? []
        : ["Headers may hold secrets: move these to a Secret and name it in headersFrom."]),
    ];
    const title = displayName ?? id;
    const object = this.#add({ kind: "SvcWebhook", id, title, spec: { displayName: title, ...spec }, notes });
    if (object !== undefined && cluster !== undefined)
      this.#webhookIds.set(id, managedId(cluster, object.namespace, object.name));
  }

  addAlert({ metadata, investigateOnFire, timeseries, type: _, ...others }: Alert): void {
    const { name: title, description } = metadata;
    const spec = {
      displayName: title,
      ...(description === undefined ? {} : { description }),
      ...(investigateOnFire === undefined ? {} : { aiInvestigateOnFire: investigateOnFire }),
      timeseries: JSON.parse(JSON.stringify(timeseries), (key, value: unknown) =>
        ["uuid", "resolvedUuid"].includes(key) && typeof value === "string"
          ? (this.#webhookIds.get(value) ?? value)
          : value,
      ) as object,
    };
    const notes = Object.entries(others).map(
      ([name, value]) => `Its ${name}, which a SvcAlert cannot say: ${JSON.stringify(value)}`,
    );
    this.#add({ kind: "SvcAlert", id: metadata.id ?? "", title, spec, notes });
  }

  addDashboard({ metadata, settings, content }: Dashboard): void {
    const { title, folderPath } = metadata;
    const isElsewhere = folderPath !== undefined && folderPath !== "/dashboards/";
    const spec = {
      title,
      ...(settings === undefined ? {} : { settings }),
      ...(content === undefined ? {} : { content }),
    };
    const notes = isElsewhere ? [`It was in the folder ${folderPath}; the namespace takes its place.`] : [];
    this.#add({ kind: "SvcDashboard", id: metadata.id ?? "", title, spec, notes });
  }

  addIngestionRule({ id = "", displayName, cluster, rules }: IngestionRule): void {
    const title = displayName ?? id;
    if (this.#isOfOther(cluster, `ingestion rule ${title}`)) return;
    this.#add({ kind: "SvcClusterIngestionRule", id, title, spec: { rules }, notes: [] });
  }

  addGroup({ name, role, oidcMappings }: Group): void {
    const notes = role === undefined ? [] : [`It has the role ${role}, which a SvcGroup cannot give.`];
    const spec = oidcMappings === undefined ? {} : { oidcMappings };
    this.#add({ kind: "SvcGroup", id: name, title: name, spec, notes });
  }

  addRule(rule: TelemetryRule | ResourceRule, inNamespace: KindName, inCluster: KindName): void {
    const { id = "", displayName, cluster, groups, rules } = rule;
    const title = displayName ?? id;
    if (this.#isOfOther(cluster, `rule ${title}`)) return;
    const notes =
      cluster === undefined ? ["It held for every cluster; as an object it holds for its own alone."] : [];
    if (rule.type === "cluster") this.#add({ kind: inCluster, id, title, spec: { groups, rules }, notes });
    else
      this.#add({ kind: inNamespace, id, title, namespace: rule.namespace, spec: { groups, rules }, notes });
  }

  #isOfOther(cluster: string | undefined, what: string): boolean {
    const { cluster: own } = this.#options;
    if (cluster === undefined || own === undefined || cluster === own) return false;
    this.result.leftOut.push(`${what}: it is for the cluster ${cluster}`);
    return true;
  }

  /** Returns where the object is, "" for the namespace of none; undefined where it cannot be a custom resource. */
  #add({ kind, id, title, namespace, spec, notes }: Made): { namespace: string; name: string } | undefined {
    const { scope, group } = customKind(kind);
    const object = readManagedId(id);
    const asked = object?.namespace ?? namespace ?? this.#options.namespace;
    const place = scope === "Cluster" ? undefined : asked;
    const name = object?.name ?? this.#nameOf(kind, place, title);
    const problem =
      name === undefined
        ? "its name must be that of an object: small letters, digits and -"
        : findProblem(kind, spec, { cluster: "cluster", namespace: place ?? "", name });
    if (name === undefined || problem !== undefined) {
      this.result.leftOut.push(`${kind} ${JSON.stringify(title)}: ${problem}`);
      return undefined;
    }
    const manifest = {
      apiVersion: `${apiGroups[group]}/${apiVersion}`,
      kind,
      metadata: { name, ...(place === undefined ? {} : { namespace: place }) },
      spec,
    };
    const isHidden = JSON.stringify(spec).includes(JSON.stringify(secretPlaceholder));
    const hidden = isHidden ? [`${secretPlaceholder} stands for a secret that the token may not see.`] : [];
    const comments = [...notes, ...hidden].map((note) => `# ${note.replace(/\s+/g, " ")}\n`).join("");
    const yaml = stringify(manifest, { aliasDuplicateObjects: false, lineWidth: 0, schema: "yaml-1.1" });
    this.result.manifests.push({ kind, text: `---\n${comments}${yaml}` });
    return { namespace: place ?? "", name };
  }

  /** A name of its own; a group keeps its name, since rules name it. */
  #nameOf(kind: KindName, namespace: string | undefined, title: string): string | undefined {
    const words = title
      .normalize("NFKD")
      .toLowerCase()
      .match(/[a-z0-9]+/g);
    const base = (words?.join("-") ?? kind.toLowerCase()).slice(0, 60).replace(/-$/, "");
    if (kind === "SvcGroup") return base === title ? base : undefined;
    let name = base;
    for (let i = 2; this.#names.has(`${kind} ${namespace} ${name}`); i++) name = `${base}-${i}`;
    this.#names.add(`${kind} ${namespace} ${name}`);
    return name;
  }
}

/** The object that a managed resource is made of. */
function readManagedId(id: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = isManaged(id) ? (/^[^.]+\.[^.]+\.([^.]*)\.(.+)$/.exec(id) ?? []) : [];
  return namespace === undefined ? undefined : { namespace, name: name! };
}

function findProblem(
  kind: KindName,
  spec: object,
  object: { cluster: string; namespace: string; name: string },
): string | undefined {
  try {
    makers[kind](spec, object);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
