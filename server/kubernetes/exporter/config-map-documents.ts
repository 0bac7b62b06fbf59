/** The documents of a ConfigMap: each data key with a known ending holds alerts or dashboards. Pure functions. */

import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";
import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import { documentsMax } from "./limits.ts";
import type { ClusterObject } from "./object-sync.ts";

/** What ConfigMaps hold; the hub knows these names. */
export type ConfigMapKind = "ConfigMapAlert" | "ConfigMapDashboard";

export interface ConfigMapDocuments {
  objects: ClusterObject[];
  /** What is wrong with keys that could not be read, for people. */
  problems: string[];
}

/**
 * Reads the documents of a ConfigMap. The first of a key has the name `<ConfigMap>.<key without its ending>`, the
 * next ones `.2`, `.3` after it.
 */
export function readDocuments(kind: ConfigMapKind, configMap: KubernetesObject): ConfigMapDocuments {
  const { data } = configMap as { data?: Record<string, unknown> };
  const found: ConfigMapDocuments = { objects: [], problems: [] };
  const names = new Set<string>();
  for (const [key, text] of Object.entries(data ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [, stem] = /^(.*)\.(?:ya?ml|json)$/i.exec(key) ?? [];
    if (stem === undefined || typeof text !== "string") continue;
    try {
      const documents = parseDocuments(text);
      const objects = documents.map((spec, i) => toObject(kind, configMap, key, stem, i, spec));
      const twice = objects.find(({ metadata }) => names.has(metadata.name));
      if (twice !== undefined) throw new Error(`its name ${twice.metadata.name} is another key's too`);
      for (const object of objects) names.add(object.metadata.name);
      found.objects.push(...objects);
    } catch (error) {
      found.problems.push(`${key}: ${(error as Error).message.split("\n", 1)[0]}`);
    }
  }
  return found;
}

function parseDocuments(text: string): unknown[] {
  const documents = parseAllDocuments(text, { maxAliasCount: 100 } as object);
  const values: unknown[] = [];
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(error.message);
    const value = document.toJS({ maxAliasCount: 100 }) as unknown;
    if (value !== null) values.push(value);
  }
  if (values.length > documentsMax)
    throw new Error(`it has ${values.length} documents, at most ${documentsMax} are taken`);
  return values;
}

function toObject(
  kind: ConfigMapKind,
  { metadata }: KubernetesObject,
  key: string,
  stem: string,
  at: number,
  spec: unknown,
): ClusterObject {
  const { name: map, namespace, uid } = metadata;
  const cleaned = stem.toLowerCase().replaceAll("_", "-");
  const name = [map, cleaned, ...(at === 0 ? [] : [at + 1])].join(".");
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
  if (!isName || name.length > 253)
    throw new Error(`${name} cannot be a name: letters, digits, - and . alone, 253 at most`);
  const contents = createHash("sha256").update(JSON.stringify(spec)).digest();
  const keyHash = createHash("sha256").update(key).digest("hex").slice(0, 16);
  return {
    ...{ kind, spec },
    // ConfigMaps count no generations: the contents' hash takes their place.
    metadata: { name, namespace, uid: `${uid}:${keyHash}:${at}`, generation: contents.readUIntBE(0, 6) },
    subject: { apiVersion: "v1", kind: "ConfigMap", namespace, name: map, uid },
  };
}
