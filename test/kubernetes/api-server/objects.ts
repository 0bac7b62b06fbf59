/** The shape of Kubernetes objects, and the few operations on JSON that everything here needs. */
import { isDeepStrictEqual } from "node:util";

export type Fields = Record<string, unknown>;

/** One entry of `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Fields;
  subresource?: string;
}

interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: Fields[];
  managedFields?: ManagedFieldsEntry[];
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Fields;
  status?: Fields;
  [field: string]: unknown;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** The value at a path such as `spec.nodeName`, undefined where a step is missing. */
export function readPath(value: unknown, path: string): unknown {
  let at = value;
  for (const step of path.split(".")) at = isFields(at) ? at[step] : undefined;
  return at;
}

/** The time as Kubernetes writes it: whole seconds, UTC. */
export function toTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
