/** Says without a cluster what an API server and the hub would refuse of a file of manifests. Pure functions. */

import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { checkInput } from "../../api/validation.ts";
import { suggest } from "../../text/suggestion.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import { type ConfigMapKind, readDocuments } from "../exporter/config-map-documents.ts";
import { makersOf, type SyncedKindName } from "../hub/synced-kinds.ts";
import { apiGroups, apiVersion, type CustomKind, customKinds } from "../resources/custom-kinds.ts";
import { objectMetadata } from "../resources/specs.ts";

/** What is to be said of one object. */
interface ManifestFinding {
  /** From 1: where the problem is, or the object begins. */
  line: number;
  /** `SvcAlert default/errors`. */
  subject: string;
  /** Why it would be refused; undefined where it would be taken. */
  problem?: string;
  /** What was probably not meant. */
  warnings: string[];
}

export interface ManifestFindings {
  found: ManifestFinding[];
  /** Objects of other kinds, which were not looked at. */
  skipped: number;
}

/** Labels of ConfigMaps that hold alerts and dashboards, as `key=value`. */
export interface ConfigMapLabels {
  alert: string;
  dashboard: string;
}

/** An object in a file. */
interface Sent {
  apiVersion?: unknown;
  kind?: unknown;
  metadata?: { name?: unknown; namespace?: unknown; labels?: Record<string, unknown> };
  spec?: unknown;
}

/** etcd's limit of one object, which kubectl reports as "etcdserver: request is too large". */
const objectBytesMax = 1.5 * 1024 * 1024;
/** Limit of all annotations: `kubectl apply` keeps a copy of the object there, unless the server applies it. */
const annotationBytesMax = 256 * 1024;

// Groups and webhooks may be in the hub, or in another file.
const makers = makersOf({ hasGroup: () => true, hasWebhook: () => () => true });

/** Reads YAML, with any number of documents and lists, or JSON. */
export function validateManifests(text: string, labels: ConfigMapLabels): ManifestFindings {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, schema: "yaml-1.1" }) as Document[];
  const findings: ManifestFindings = { found: [], skipped: 0 };
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) {
      const problem = error.message.split("\n", 1)[0]!;
      findings.found.push({
        line: lines.linePos(error.pos[0]).line,
        subject: "the file",
        problem,
        warnings: [],
      });
      continue;
    }
    const root = document.toJS({ maxAliasCount: 100 }) as Sent | null;
    if (root === null) continue;
    const place = new DocumentPlace(document, lines);
    if (root.kind === "List" && "items" in root && Array.isArray(root.items)) {
      for (const [i, item] of root.items.entries()) {
        validateObject(item as Sent, place.below("items", i), labels, findings);
      }
    } else validateObject(root, place, labels, findings);
  }
  return findings;
}

function validateObject(
  sent: Sent,
  place: DocumentPlace,
  labels: ConfigMapLabels,
  findings: ManifestFindings,
): void {
  const kind = customKinds.find((each) => each.kind === sent.kind);
  const subject = describeSubject(sent);
  const configMapKind = sent.kind === "ConfigMap" ? findConfigMapKind(sent, labels) : undefined;
  if (configMapKind !== undefined) {
    findings.found.push(...validateConfigMap(sent, configMapKind, place));
    return;
  }
  const isOurs = typeof sent.apiVersion === "string" && /\.svc\.example\//.test(sent.apiVersion);
  if (kind === undefined && !isOurs) {
    findings.skipped++;
    return;
  }
  const finding: ManifestFinding = { line: place.lineOf(""), subject, warnings: [] };
  findings.found.push(finding);
  try {
    if (kind === undefined) refuseKind(sent);
    finding.warnings = checkObject(kind!, sent);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    finding.problem = error.message;
    finding.line = place.lineOf(error.message);
  }
}

/** Returns warnings. Throws Refusal that names the field. */
function checkObject(kind: CustomKind, sent: Sent): string[] {
  const version = `${apiGroups[kind.group]}/${apiVersion}`;
  if (sent.apiVersion !== version) throw new Refusal(400, `apiVersion of ${kind.kind} must be ${version}`);
  const metadata = checkInput(objectMetadata.omit({ uid: true }), sent.metadata ?? {}, "metadata");
  const { name, namespace } = metadata;
  if (kind.scope === "Cluster" && namespace !== undefined)
    throw new Refusal(
      400,
      `metadata.namespace: ${kind.kind} belongs to the whole cluster and to no namespace`,
    );
  const bytes = Buffer.byteLength(JSON.stringify(sent));
  if (bytes > objectBytesMax)
    throw new Refusal(
      400,
      `spec is too long: the object has ${bytes} bytes, API servers take ${objectBytesMax}`,
    );
  const object = { cluster: "cluster", namespace: namespace ?? "default", name };
  const { warnings } = makers[kind.kind as SyncedKindName](sent.spec, object);
  if (bytes <= annotationBytesMax) return warnings;
  const large = "too large for the annotation of kubectl apply: use kubectl apply --server-side";
  return [...warnings, large];
}

function refuseKind({ kind }: Sent): never {
  const names = customKinds.map((each) => each.kind);
  throw new Refusal(400, `kind ${JSON.stringify(kind)} is none of svc's${suggest(String(kind), names)}`);
}

/** Each document of each key is a resource of its own. */
function validateConfigMap(sent: Sent, kind: ConfigMapKind, place: DocumentPlace): ManifestFinding[] {
  const { name = "", namespace = "default" } = (sent.metadata ?? {}) as { name?: string; namespace?: string };
  const subject = describeSubject(sent);
  const configMap = { ...sent, metadata: { name, namespace, uid: "" } } as unknown as KubernetesObject;
  const { objects, problems } = readDocuments(kind, configMap);
  const line = place.lineOf("data");
  const bad = problems.map((problem) => ({ line, subject, problem, warnings: [] }));
  const made = objects.map((object): ManifestFinding => {
    const about = { line, subject: `${subject}, ${object.metadata.name}` };
    try {
      const { warnings } = makers[kind](object.spec, {
        cluster: "cluster",
        namespace,
        name: object.metadata.name,
      });
      return { ...about, warnings };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ...about, problem: error.message, warnings: [] };
    }
  });
  return [...bad, ...made];
}

function findConfigMapKind(
  { metadata }: Sent,
  { alert, dashboard }: ConfigMapLabels,
): ConfigMapKind | undefined {
  const has = (label: string) => {
    const [key, value] = label.split("=", 2) as [string, string];
    return metadata?.labels?.[key] === value;
  };
  if (has(alert)) return "ConfigMapAlert";
  return has(dashboard) ? "ConfigMapDashboard" : undefined;
}

function describeSubject({ kind, metadata }: Sent): string {
  const { namespace, name } = metadata ?? {};
  const place = namespace === undefined ? String(name ?? "?") : `${String(namespace)}/${String(name ?? "?")}`;
  return `${typeof kind === "string" ? kind : "object"} ${place}`;
}

/** Finds the line of the field that a message names at its beginning. */
class DocumentPlace {
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #base: readonly (string | number)[];

  constructor(document: Document, lines: LineCounter, base: readonly (string | number)[] = []) {
    this.#document = document;
    this.#lines = lines;
    this.#base = base;
  }

  below(...path: (string | number)[]): DocumentPlace {
    return new DocumentPlace(this.#document, this.#lines, [...this.#base, ...path]);
  }

  lineOf(message: string): number {
    const [, field = ""] = /^(?:unknown field ")?([\w$.[\]-]+)/.exec(message) ?? [];
    const path = (field.match(/[\w$-]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    let start = this.#document.contents?.range?.[0] ?? 0;
    for (let length = 0; length <= path.length; length++) {
      const found = this.#document.getIn([...this.#base, ...path.slice(0, length)], true);
      if (isNode(found) && found.range != null) start = found.range[0];
    }
    return this.#lines.linePos(start).line;
  }
}
