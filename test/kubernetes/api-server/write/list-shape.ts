/** How a list is merged: as one value, as a set, or as a map by keys of its items. */

import { memberSchema, type Schema } from "../kind/schema.ts";
import { type Fields, isFields } from "../objects.ts";

export type ListShape = { type: "atomic" } | { type: "set" } | { type: "map"; keys: readonly string[] };

/** Merge keys of the core kinds' lists, by the name of the field that holds the list. */
const coreKeys: Readonly<Record<string, readonly string[]>> = {
  conditions: ["type"],
  containers: ["name"],
  initContainers: ["name"],
  ephemeralContainers: ["name"],
  env: ["name"],
  volumes: ["name"],
  volumeMounts: ["mountPath"],
  volumeDevices: ["devicePath"],
  imagePullSecrets: ["name"],
  hostAliases: ["ip"],
  topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
  ownerReferences: ["uid"],
  secrets: ["name"],
};

/** The schema of what lies below fields that a custom resource does not declare: maps merge, lists do not. */
const undeclared: Schema = { "x-kubernetes-preserve-unknown-fields": true };

/** The schema of a member while merging; undefined within core kinds and metadata, where names decide. */
export function mergeSchema(schema: Schema | undefined, name: string, isRoot: boolean): Schema | undefined {
  if (schema === undefined || (isRoot && name === "metadata")) return undefined;
  return memberSchema(schema, name) ?? undeclared;
}

export function itemSchema(schema: Schema | undefined): Schema | undefined {
  return schema === undefined ? undefined : (schema.items ?? undeclared);
}

/** True for an object that is replaced as a whole. */
export function isAtomicMap(schema: Schema | undefined): boolean {
  return schema?.["x-kubernetes-map-type"] === "atomic";
}

/** The shape of a list, from its schema or, within core kinds, from the name of its field. */
export function shapeOfList(list: readonly unknown[], schema: Schema | undefined, name: string): ListShape {
  if (schema !== undefined) {
    const type = schema["x-kubernetes-list-type"];
    if (type === "map") return { type, keys: schema["x-kubernetes-list-map-keys"] ?? [] };
    return { type: type === "set" ? "set" : "atomic" };
  }
  if (name === "finalizers") return { type: "set" };
  const keys = name === "ports" ? portKeys(list) : coreKeys[name];
  return keys === undefined || !list.every(isFields) ? { type: "atomic" } : { type: "map", keys };
}

function portKeys(list: readonly unknown[]): string[] | undefined {
  const [first] = list;
  if (!isFields(first)) return undefined;
  return [first.containerPort === undefined ? "port" : "containerPort", "protocol"];
}

/** The keys of an item by name; a port without a protocol is a TCP port. */
export function keysOf(item: Fields, keys: readonly string[]): Fields {
  const entries = [...keys].sort().map((key) => [key, item[key] ?? (key === "protocol" ? "TCP" : undefined)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
