/** The charts as files, and what they render to. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, isScalar, parse, parseAllDocuments, stringify, visit } from "yaml";
import { ChartTemplates } from "./chart-template.ts";

export type ChartName = "exporter" | "hub";

interface Release {
  name: string;
  namespace: string;
  /** Replaces values of the chart, deeply. */
  values?: object;
}

/** A manifest, as far as it is looked at. */
export interface ChartManifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

/** Each file of a chart as it is rendered: manifests, and NOTES.txt. Throws an Error for values that are missing. */
export function renderChart(
  chart: ChartName,
  { name, namespace, values = {} }: Release,
): Map<string, string> {
  const root = join(import.meta.dirname, chart);
  const {
    version,
    appVersion,
    name: chartName,
  } = readYaml(join(root, "Chart.yaml")) as Record<string, string>;
  const data = {
    Values: merge(readYaml(join(root, "values.yaml")), values),
    Release: { Name: name, Namespace: namespace, Service: "Helm" },
    Chart: { Name: chartName, Version: version, AppVersion: appVersion },
  };
  const templates = new ChartTemplates();
  const folder = join(root, "templates");
  const read = readdirSync(folder).map((file) => {
    return [file, templates.add(readFileSync(join(folder, file), "utf8"))] as const;
  });
  const rendered = read.filter(([file]) => !file.endsWith(".tpl"));
  return new Map(rendered.map(([file, nodes]) => [file, templates.render(nodes, data)]));
}

/** The manifests that a chart renders to. Throws an Error where one is no YAML. */
export function manifestsOf(rendered: ReadonlyMap<string, string>): ChartManifest[] {
  return documentsOf(rendered).map((document) => document.toJS() as ChartManifest);
}

function documentsOf(rendered: ReadonlyMap<string, string>): Document[] {
  return [...rendered]
    .filter(([file]) => file.endsWith(".yaml"))
    .flatMap(([file, text]) => {
      const documents = parseAllDocuments(text, { schema: "yaml-1.1" }) as Document[];
      for (const { errors } of documents)
        if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
      return documents.filter((document) => document.toJS() !== null);
    });
}

/** Namespace and names of the manifests without Helm. */
const plainNamespace = "svc";
const plainReleases = {
  hub: { name: "svc-hub", namespace: plainNamespace },
  exporter: {
    name: "svc-exporter",
    namespace: plainNamespace,
    values: { hub: { url: "http://svc-hub.svc.svc" }, token: { existingSecret: "svc-exporter-token" } },
  },
} satisfies Record<ChartName, Release>;

const note = "# Made by `npm run charts` of the chart beside it: change that.\n";

/** The charts' manifests without Helm and CRDs, for kustomize: files by their path below this folder. */
export function plainManifests(crdFiles: readonly string[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const chart of ["exporter", "hub"] as const) {
    const rendered = renderChart(chart, { ...plainReleases[chart] });
    rendered.delete("crds.yaml");
    const documents = documentsOf(rendered).map((document) => `---\n${printPlain(document)}`);
    files.set(`manifests/${chart}/${chart}.yaml`, note + documents.join(""));
    files.set(`manifests/${chart}/kustomization.yaml`, kustomization(["namespace.yaml", `${chart}.yaml`]));
    files.set(`manifests/${chart}/namespace.yaml`, `${note}${stringify(makeNamespace())}`);
  }
  files.set("manifests/crds/kustomization.yaml", kustomization([...crdFiles].sort()));
  return files;
}

function makeNamespace(): ChartManifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: plainNamespace } };
}

function kustomization(resources: readonly string[]): string {
  return (
    note + stringify({ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources })
  );
}

/** Without the labels that belong to Helm. */
function printPlain(document: Document): string {
  visit(document, {
    Pair: (_, { key }) =>
      isScalar(key) && ["helm.sh/chart", "app.kubernetes.io/managed-by"].includes(String(key.value))
        ? visit.REMOVE
        : undefined,
  });
  return document.toString({ lineWidth: 0, directives: false }).replace(/^---\n/, "");
}

function readYaml(path: string): unknown {
  return parse(readFileSync(path, "utf8"));
}

function merge(base: unknown, changes: unknown): unknown {
  if (!isObject(base) || !isObject(changes)) return changes === undefined ? base : changes;
  const keys = new Set([...Object.keys(base), ...Object.keys(changes)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(base[key], changes[key])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
