/** The manifests of the CRDs: as plain YAML, and as a template of each Helm chart. */

import { stringify } from "yaml";
import { customResourceDefinition } from "./crd.ts";
import { apiGroups, type CustomKind, customKinds } from "./custom-kinds.ts";

const note = "# Made by `npm run charts` of the schemas in server/model: change those.\n";

/** Every file that is made, by its path below `server/kubernetes/charts/`. */
export function crdManifests(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const kind of customKinds) {
    const name = `${kind.plural}.${apiGroups[kind.group]}.yaml`;
    files.set(`manifests/crds/${name}`, note + yamlOf(kind));
  }
  files.set("exporter/templates/crds.yaml", templateOf("monitored"));
  files.set("hub/templates/crds.yaml", templateOf("hub"));
  return files;
}

/** A template of all kinds that are applied to such clusters. Removing the release keeps the CRDs and all objects. */
function templateOf(appliedTo: CustomKind["appliedTo"]): string {
  const kinds = customKinds.filter((kind) => kind.appliedTo === appliedTo);
  const documents = kinds.map((kind) => `---\n${makeOptional(yamlOf(kind))}`);
  return `${note}{{- if .Values.crds.install }}\n${documents.join("")}{{- end }}\n`;
}

/** Makes the category `svc` a choice of the chart's user, and keeps the CRD when the release is removed. */
function makeOptional(yaml: string): string {
  const category = "      - svc\n";
  const choice = `      {{- if .Values.crds.brandCategory }}\n${category}      {{- end }}\n`;
  const metadata = /^metadata:\n {2}name: .*\n/m;
  return yaml
    .replace(category, choice)
    .replace(metadata, (text) => `${text}  annotations:\n    helm.sh/resource-policy: keep\n`);
}

function yamlOf(kind: CustomKind): string {
  const definition = customResourceDefinition(kind, { brandCategory: true });
  // kubectl and Helm read YAML 1.1, where a plain `y` is a boolean: such texts are quoted.
  return stringify(definition, { aliasDuplicateObjects: false, lineWidth: 0, schema: "yaml-1.1" });
}
