/** Events are stored as `v1` and shown as `events.k8s.io/v1`, too, where their fields have other names. */
import type { ResourceKind } from "../kind/kinds.ts";
import type { KubernetesObject } from "../objects.ts";

/** Name in `events.k8s.io/v1` to name in `v1`. */
const storedNames: Record<string, string> = {
  regarding: "involvedObject",
  note: "message",
  deprecatedCount: "count",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedSource: "source",
  reportingController: "reportingComponent",
};
const shownNames = Object.fromEntries(Object.entries(storedNames).map(([shown, stored]) => [stored, shown]));

function isConverted({ group, plural }: ResourceKind): boolean {
  return group === "events.k8s.io" && plural === "events";
}

function rename(
  object: KubernetesObject,
  names: Record<string, string>,
  apiVersion: string,
): KubernetesObject {
  const renamed = Object.fromEntries(
    Object.entries(object).map(([name, value]) => [names[name] ?? name, value]),
  );
  return { ...(renamed as unknown as KubernetesObject), apiVersion };
}

/** An object as it is kept, from what a client sent. */
export function toStored(object: KubernetesObject, kind: ResourceKind): KubernetesObject {
  return isConverted(kind) ? rename(object, storedNames, "v1") : object;
}

/** An object as the version of `kind` shows it. */
export function toShown(object: KubernetesObject, kind: ResourceKind, apiVersion: string): KubernetesObject {
  if (isConverted(kind)) return rename(object, shownNames, apiVersion);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
