/** Makes rows of `kubernetes_resources` of objects: a body in JSON, and attributes by which they are found. */

import { createHash } from "node:crypto";
import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import { findWorkload } from "../cluster/workload.ts";
import type { ExporterRow } from "../gateway/row-batch.ts";
import { type InventoryKind, inventoryKinds } from "./inventory-kinds.ts";
import { eventDriftMs } from "./limits.ts";
import { redact } from "./redaction.ts";

/** Why a row is sent: `present` is one of a full state. */
export type ResourceChange = "added" | "changed" | "deleted" | "present";

export interface ResourceRow extends ExporterRow {
  timestamp: number;
  /** An object as JSON. */
  body: string;
  attributes: Record<string, string>;
}

/** Fingerprints of the parts of an object that say something. */
export interface ObjectParts {
  metadata: string;
  spec: string;
  status: string;
}

/** Finds the service of a pod by its uid. */
export type FindService = (podUid: string) => string | undefined;

interface Involved {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
}

interface EventFields {
  involvedObject?: Involved;
  reason?: string;
  type?: string;
  count?: number;
  series?: { count?: number; lastObservedTime?: string };
  lastTimestamp?: string | null;
  eventTime?: string | null;
  firstTimestamp?: string | null;
}

export class ResourceRows {
  readonly #findService: FindService;

  constructor(findService: FindService) {
    this.#findService = findService;
  }

  make(kind: InventoryKind, object: KubernetesObject, change: ResourceChange, nowMs: number): ResourceRow {
    const redacted = redact(object);
    return {
      timestamp: kind.kind === "Event" ? timeOfEvent(object, nowMs) : nowMs,
      body: JSON.stringify(redacted),
      attributes: { ...this.describe(kind, object), "k8s.resource.change": change },
    };
  }

  /** The attributes of an object's rows. */
  describe(kind: InventoryKind, object: KubernetesObject): Record<string, string> {
    const { name, namespace, uid } = object.metadata;
    const service = kind.kind === "Event" ? undefined : serviceOf(kind, object);
    return {
      "k8s.resource.kind": kind.kind,
      "k8s.resource.name": name,
      "k8s.resource.uid": uid,
      ...(namespace === undefined ? {} : { "k8s.namespace.name": namespace }),
      ...(kind.nameKey === undefined ? {} : { [kind.nameKey]: name }),
      ...describeNode(kind, object),
      ...(service === undefined ? {} : { "service.name": `/k8s/${namespace}/${service}` }),
      ...(kind.kind === "Event" ? this.#describeEvent(object) : {}),
    };
  }

  #describeEvent(object: KubernetesObject): Record<string, string> {
    const event = object as EventFields;
    const { kind = "", namespace = "", name = "", uid = "" } = event.involvedObject ?? {};
    const count = event.series?.count ?? event.count;
    const nameKey = inventoryKinds.find((each) => each.kind === kind)?.nameKey;
    const service = this.#serviceOfInvolved(kind, name, uid);
    return {
      ...(event.type === undefined ? {} : { "k8s.event.type": event.type }),
      ...(event.reason === undefined ? {} : { "k8s.event.reason": event.reason }),
      ...(count === undefined ? {} : { "k8s.event.count": String(count) }),
      "k8s.object.kind": kind,
      "k8s.object.name": name,
      "k8s.object.uid": uid,
      ...(nameKey === undefined ? {} : { [nameKey]: name }),
      ...(namespace === "" || service === undefined
        ? {}
        : { "service.name": `/k8s/${namespace}/${service}` }),
    };
  }

  #serviceOfInvolved(kind: string, name: string, uid: string): string | undefined {
    if (kind === "Pod") return this.#findService(uid);
    const isWorkload = inventoryKinds.some((each) => each.kind === kind && each.isWorkload === true);
    // A replica set of a deployment is named after it, and a hash follows.
    return kind === "ReplicaSet" ? name.replace(/-[a-z0-9]{6,10}$/, "") : isWorkload ? name : undefined;
  }
}

/** Fingerprints by which a change is told from a sign of life. */
export function fingerprintParts(object: KubernetesObject): ObjectParts {
  const { metadata, status, apiVersion: _, kind: __, ...rest } = object;
  const { resourceVersion: ___, generation: ____, ...named } = metadata;
  const isNoBeat = (key: string, value: unknown) => (key === "lastHeartbeatTime" ? undefined : value);
  return {
    metadata: fingerprint(JSON.stringify(named)),
    spec: fingerprint(JSON.stringify(rest)),
    status: fingerprint(JSON.stringify(status ?? null, isNoBeat)),
  };
}

function fingerprint(text: string): string {
  return createHash("md5").update(text).digest("base64url");
}

/** The name of the service that the object belongs to, without its namespace. */
function serviceOf(kind: InventoryKind, object: KubernetesObject): string | undefined {
  if (kind.kind === "Pod" || kind.isWorkload === true) return findWorkload(object).name;
  return kind.kind === "Service" ? object.metadata.name : undefined;
}

function describeNode(kind: InventoryKind, object: KubernetesObject): Record<string, string> {
  const { nodeName } = (object.spec ?? {}) as { nodeName?: string };
  return kind.kind === "Pod" && nodeName !== undefined ? { "k8s.node.name": nodeName } : {};
}

/** When the Event was last seen, in Unix milliseconds. */
export function timeOfEvent(object: KubernetesObject, nowMs: number): number {
  const { series, lastTimestamp, eventTime, firstTimestamp } = object as EventFields;
  const text = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp;
  const timeMs = Date.parse(text ?? "");
  return Math.abs(timeMs - nowMs) <= eventDriftMs ? timeMs : nowMs;
}
