/** Lists: pages of one revision, and the form in which objects are shown. */

import { groupVersion, type ResourceKind } from "./kind/kinds.ts";
import type { Fields, KubernetesObject } from "./objects.ts";
import { parseSelectors } from "./selector.ts";
import { badRequest, expired, StatusError } from "./status.ts";
import type { ObjectStore } from "./store.ts";
import { type Form, toPartial, toTable } from "./table.ts";
import { toShown } from "./write/events-conversion.ts";

/** How a request wants its objects. */
export interface View {
  readonly kind: ResourceKind;
  readonly form: Form;
  /** The query parameter: `None`, `Metadata` or `Object`. */
  readonly includeObject: string;
  /** Milliseconds of the wall clock, for ages. */
  readonly now: number;
}

export function viewOf(kind: ResourceKind, form: Form, query: URLSearchParams, now: number): View {
  return { kind, form, includeObject: query.get("includeObject") ?? "Metadata", now };
}

/** One object in the form of a view. */
export function showObject(object: KubernetesObject, { kind, form, includeObject, now }: View): Fields {
  if (form === "object") return object;
  if (form === "metadata") return toPartial(object);
  const { resourceVersion } = object.metadata;
  return toTable([object], kind, { resourceVersion }, includeObject, now);
}

interface Continuation {
  readonly revision: number;
  /** The last key of the page before. */
  readonly after: string;
}

function parseContinuation(text: string): Continuation {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString()) as Continuation;
  } catch {
    throw badRequest("continue key is not valid");
  }
}

/** One page of a list; throws 410 where the revision of its continuation was compacted. */
export function listObjects(store: ObjectStore, prefix: string, query: URLSearchParams, view: View): Fields {
  const { kind } = view;
  const selector = parseSelectors(query, kind);
  const continued = query.get("continue") ? parseContinuation(query.get("continue")!) : undefined;
  const isExact = query.get("resourceVersionMatch") === "Exact";
  const exact = isExact ? Number(query.get("resourceVersion")) : store.revision;
  const revision = continued?.revision ?? exact;
  const all = entriesAt(store, kind, prefix, revision).filter(([key]) => key > (continued?.after ?? ""));
  const shown = all.map(([key, object]) => [key, toShown(object, kind, groupVersion(kind))] as const);
  const matching = selector === undefined ? shown : shown.filter(([, object]) => selector(object));
  const limit = Number(query.get("limit") ?? 0);
  const page = limit > 0 ? matching.slice(0, limit) : matching;
  const left = matching.length - page.length;
  const metadata: Fields = { resourceVersion: String(revision) };
  if (left > 0) {
    const continuation: Continuation = { revision, after: page.at(-1)![0] };
    metadata.continue = Buffer.from(JSON.stringify(continuation)).toString("base64url");
    if (selector === undefined) metadata.remainingItemCount = left;
  }
  return toList(
    page.map(([, object]) => object),
    metadata,
    view,
  );
}

function entriesAt(
  store: ObjectStore,
  kind: ResourceKind,
  prefix: string,
  revision: number,
): [string, KubernetesObject][] {
  try {
    return store.listAt(kind.collection, prefix, revision);
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 410) throw error;
    const advice = "you must start a new list without the continue parameter";
    throw expired(
      `The provided continue parameter is too old to display a consistent list result; ${advice}.`,
    );
  }
}

function toList(objects: readonly KubernetesObject[], metadata: Fields, view: View): Fields {
  const { kind, form, includeObject, now } = view;
  if (form === "table") return toTable(objects, kind, metadata, includeObject, now);
  if (form === "metadata") {
    const items = objects.map(toPartial);
    return { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata, items };
  }
  // Items of core kinds come without their kind and version, those of custom resources with them.
  const items = kind.isCustom
    ? objects
    : objects.map(({ apiVersion: _version, kind: _kind, ...rest }) => rest);
  return { kind: kind.listKind, apiVersion: groupVersion(kind), metadata, items };
}
