/** Takes from an object of the cluster what must not leave it, and what says nothing. */

import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import { annotationLengthMax } from "./limits.ts";

/** Holds the whole object, values of environment variables among it. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
const containerLists = new Set(["containers", "initContainers", "ephemeralContainers"]);

/**
 * A copy without values of environment variables and of headers of probes, without annotations that may hold copies of
 * objects, and without the list of a node's images.
 */
export function redact(object: KubernetesObject): KubernetesObject {
  const redacted = cleanObject(object) as KubernetesObject;
  const { status } = redacted;
  if (object.kind !== "Node" || !isObject(status)) return redacted;
  const { images: _, ...rest } = status;
  return { ...redacted, status: rest };
}

function cleanObject(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, cleanMember(key, value)]));
}

function cleanMember(key: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    if (containerLists.has(key)) return value.map((each) => (isObject(each) ? cleanContainer(each) : each));
    if (key === "httpHeaders") return value.map((each) => (isObject(each) ? { name: each.name } : {}));
    return value.map((each) => cleanMember("", each));
  }
  if (!isObject(value)) return value;
  return key === "metadata" ? cleanMetadata(value) : cleanObject(value);
}

/** The metadata of an object, or of a template inside it. */
function cleanMetadata(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { annotations, managedFields: _, ...rest } = metadata;
  if (!isObject(annotations)) return rest;
  const kept = Object.entries(annotations).filter(
    ([key, value]) => key !== lastApplied && String(value).length <= annotationLengthMax,
  );
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

function cleanContainer(container: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { env, ...rest } = container;
  const cleaned = cleanObject(rest);
  return Array.isArray(env) ? { ...cleaned, env: env.map(withoutValue) } : cleaned;
}

/** A variable by its name, and where its value comes from. */
function withoutValue(variable: unknown): unknown {
  const { name, valueFrom } = isObject(variable) ? variable : {};
  return valueFrom === undefined ? { name } : { name, valueFrom };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
