/** One request to a resource, from its verb to its answer. */
import type { IncomingMessage } from "node:http";
import type { Cluster } from "./cluster.ts";
import type { ResourceKind } from "./kind/kinds.ts";
import { listObjects, showObject, viewOf } from "./listing.ts";
import { type Fields, isFields, type KubernetesObject } from "./objects.ts";
import { managerOf, mediaTypeOf, type ResourcePath, readBody } from "./request.ts";
import { parseSelectors } from "./selector.ts";
import { badRequest, methodNotAllowed, noSuchPath, unsupportedMediaType } from "./status.ts";
import { parseForm } from "./table.ts";
import type { WatchRequest } from "./watch-stream.ts";
import { type FieldValidation, subjectOf } from "./write/admission.ts";
import { keyOf, type Place, type Preconditions, type WriteOptions } from "./write/object-writer.ts";
import { applyJsonPatch, applyMergePatch, applyStrategicPatch } from "./write/patch.ts";

/** An answer that is not a stream. */
export interface Answer {
  readonly code: number;
  readonly body: Fields;
  readonly warnings?: readonly string[];
}

interface ResourceRequest {
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  readonly path: ResourcePath;
  readonly kind: ResourceKind;
  readonly now: number;
}

const patchTypes = [
  ...[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
  ],
  "application/apply-patch+yaml",
];

/** The kind of a path; throws 404 where nothing is served there. */
export function findKind(
  cluster: Cluster,
  { group, version, plural, subresource }: ResourcePath,
): ResourceKind {
  const kind = cluster.kinds.find(group, version, plural);
  const isServed = subresource === undefined || (subresource === "status" && kind?.hasStatus === true);
  if (kind === undefined || !isServed) throw noSuchPath();
  return kind;
}

/** Serves every verb but `watch`. */
export async function serveResource(cluster: Cluster, verb: string, of: ResourceRequest): Promise<Answer> {
  const { kind, path, query, request, now } = of;
  const view = viewOf(kind, parseForm(request.headers.accept), query, now);
  const show = (object: KubernetesObject, code = 200, warnings: string[] = []): Answer => {
    return { code, body: showObject(object, view), warnings };
  };
  const place: Place = { kind, namespace: path.namespace, name: path.name };
  switch (verb) {
    case "get":
      return show(cluster.writer.get(place));
    case "list":
      return { code: 200, body: listObjects(cluster.store, prefixOf(of), query, view) };
    case "create": {
      if (path.name !== "") throw methodNotAllowed();
      const options = optionsOf(of);
      const created = cluster.writer.create(kind, path.namespace, await readObject(request, kind), options);
      return show(created, 201, options.warnings);
    }
    case "update": {
      const options = optionsOf(of);
      return show(
        cluster.writer.replace(place, await readObject(request, kind), options),
        200,
        options.warnings,
      );
    }
    case "patch": {
      const options = optionsOf(of);
      const exists = cluster.store.get(kind.collection, keyOf(place)) !== undefined;
      return show(await patchObject(cluster, place, options, of), exists ? 200 : 201, options.warnings);
    }
    case "delete":
      return deleteObject(cluster, place, await readBody(request), of);
    case "deletecollection":
      return deleteCollection(cluster, of, await readBody(request));
    default:
      throw methodNotAllowed();
  }
}

async function readObject(request: IncomingMessage, kind: ResourceKind): Promise<unknown> {
  const body = await readBody(request);
  if (body === undefined) throw badRequest(`${kind.kind} is missing from the body`);
  return body;
}

function prefixOf({ kind, path }: ResourceRequest): string {
  return kind.namespaced && path.namespace !== "" ? `${path.namespace}/` : "";
}

function isDryRun(query: URLSearchParams): boolean {
  const dryRun = query.get("dryRun");
  if (dryRun === null || dryRun === "") return false;
  if (dryRun !== "All") throw badRequest(`invalid dryRun "${dryRun}": supported values: "All"`);
  return true;
}

function optionsOf({ request, query, path }: ResourceRequest): WriteOptions & { warnings: string[] } {
  return {
    manager: managerOf(request, query),
    subresource: path.subresource,
    dryRun: isDryRun(query),
    fieldValidation: (query.get("fieldValidation") || "Warn") as FieldValidation,
    force: query.get("force") === "true",
    warnings: [],
  };
}

async function patchObject(
  cluster: Cluster,
  place: Place,
  options: WriteOptions,
  { request, query, kind }: ResourceRequest,
): Promise<KubernetesObject> {
  const type = mediaTypeOf(request);
  if (!patchTypes.includes(type) || (kind.isCustom && type.startsWith("application/strategic"))) {
    const served = patchTypes.filter((each) => !kind.isCustom || !each.startsWith("application/strategic"));
    throw unsupportedMediaType(type, served);
  }
  const patch = await readBody(request);
  if (type === "application/apply-patch+yaml") {
    if (!query.get("fieldManager"))
      throw badRequest(
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      );
    return cluster.writer.apply(place, patch, options);
  }
  const apply =
    type === "application/json-patch+json"
      ? applyJsonPatch
      : type === "application/merge-patch+json"
        ? applyMergePatch
        : applyStrategicPatch;
  return cluster.writer.patch(place, (object) => apply(object, patch), options);
}

/** Deletes one object: what is gone is answered with a `Status`, what is only marked with the object. */
function deleteObject(cluster: Cluster, place: Place, body: unknown, { query }: ResourceRequest): Answer {
  const { kind, name } = place;
  const sent = isFields(body) ? body : {};
  const dryRun = isDryRun(query) || (Array.isArray(sent.dryRun) && sent.dryRun.includes("All"));
  const deleted = cluster.writer.delete(place, (sent.preconditions ?? {}) as Preconditions, dryRun);
  const isMarked = cluster.store.get(kind.collection, keyOf(place)) !== undefined && !dryRun;
  if (isMarked) return { code: 200, body: deleted };
  const { plural: _plural, ...subject } = subjectOf(kind, name);
  const details = { ...subject, kind: kind.plural, uid: deleted.metadata.uid };
  return { code: 200, body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details } };
}

function deleteCollection(cluster: Cluster, of: ResourceRequest, body: unknown): Answer {
  const { kind, query } = of;
  const sent = isFields(body) ? body : {};
  const dryRun = isDryRun(query) || (Array.isArray(sent.dryRun) && sent.dryRun.includes("All"));
  const list = listObjects(cluster.store, prefixOf(of), query, viewOf(kind, "object", query, of.now));
  for (const { metadata } of list.items as KubernetesObject[]) {
    cluster.writer.delete({ kind, namespace: metadata.namespace ?? "", name: metadata.name }, {}, dryRun);
  }
  return { code: 200, body: list };
}

/** What a watch asks for; without `timeoutSeconds` it lasts 30 minutes, as on a real server at least. */
export function watchRequestOf(of: ResourceRequest): WatchRequest {
  const { kind, query, request, now } = of;
  const view = viewOf(kind, parseForm(request.headers.accept), query, now);
  const revision = query.get("resourceVersion");
  if (revision !== null && !/^\d*$/.test(revision))
    throw badRequest(`invalid resource version "${revision}"`);
  return {
    kind,
    prefix: prefixOf(of),
    selector: parseSelectors(query, kind),
    revision: revision === null ? undefined : Number(revision),
    sendsInitialEvents: query.get("sendInitialEvents") === "true",
    allowsBookmarks: query.get("allowWatchBookmarks") === "true",
    timeoutMs: Number(query.get("timeoutSeconds") || 1800) * 1000,
    toForm: (object) => showObject(object, { ...view, now: Date.now() }),
  };
}
