/** The shape of the objects of an API server. */

export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMetadata;
  spec?: unknown;
  status?: unknown;
  [field: string]: unknown;
}

interface ObjectMetadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
}

/** A collection of objects: a kind, in all namespaces or in one. */
export interface ObjectCollection {
  /** `v1` for the core group. */
  apiVersion: string;
  kind: string;
  plural: string;
  /** One namespace; absent for all of them, and for kinds without a namespace. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** The path of a collection, without a query. */
export function pathOf({ apiVersion, plural, namespace }: ObjectCollection): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}
