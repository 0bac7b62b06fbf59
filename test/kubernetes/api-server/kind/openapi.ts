/** OpenAPI v3 documents: kubectl reads from them that the server checks fields, and what `explain` shows. */

import type { Fields } from "../objects.ts";
import { groupVersion, type ResourceKind } from "./kinds.ts";

const metaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const objectMeta: Fields = {
  type: "object",
  description: "ObjectMeta is metadata that all persisted resources must have.",
  properties: {
    name: { type: "string", description: "Name must be unique within a namespace." },
    namespace: { type: "string", description: "Namespace of the object." },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
    finalizers: { type: "array", items: { type: "string" } },
  },
};

function pathOf(version: { group: string; version: string }): string {
  return version.group === "" ? `api/${version.version}` : `apis/${groupVersion(version)}`;
}

/** The index at `/openapi/v3`. `revision` makes the addresses of changed documents new, so that caches let go. */
export function openApiIndex(kinds: readonly ResourceKind[], revision: number): Fields {
  const paths = kinds.map((kind) => {
    const path = pathOf(kind);
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${revision}` }];
  });
  return { paths: Object.fromEntries(paths) };
}

/** The document of a group and version, such as `apis/apps/v1`; undefined where nothing is served there. */
export function openApiDocument(path: string, kinds: readonly ResourceKind[]): Fields | undefined {
  const own = kinds.filter((kind) => pathOf(kind) === path);
  if (own.length === 0) return undefined;
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.33.0" },
    paths: Object.assign({}, ...own.map((kind) => describePaths(kind, path))),
    components: {
      schemas: {
        [metaName]: objectMeta,
        ...Object.fromEntries(own.map((kind) => [schemaName(kind), describeSchema(kind)])),
      },
    },
  };
}

function schemaName({ group, version, kind }: ResourceKind): string {
  const domain = group === "" ? "io.k8s.api.core" : group.split(".").reverse().join(".");
  return `${domain}.${version}.${kind}`;
}

function describeSchema({ group, version, kind, schema }: ResourceKind): Fields {
  return {
    ...(schema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true }),
    properties: {
      apiVersion: { type: "string", description: "APIVersion defines the versioned schema of this object." },
      kind: { type: "string", description: "Kind is the REST resource that this object represents." },
      ...schema?.properties,
      metadata: {
        allOf: [{ $ref: `#/components/schemas/${metaName}` }],
        default: {},
        description: "Standard object's metadata.",
      },
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
  };
}

function describePaths(kind: ResourceKind, path: string): Fields {
  const collection = `/${path}/${kind.namespaced ? "namespaces/{namespace}/" : ""}${kind.plural}`;
  const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
  const $ref = { $ref: `#/components/schemas/${schemaName(kind)}` };
  const answer = { 200: { description: "OK", content: { "application/json": { schema: $ref } } } };
  const action = (name: string, more: Fields = {}) => ({
    ...{ responses: answer, "x-kubernetes-action": name, "x-kubernetes-group-version-kind": gvk },
    ...more,
  });
  const parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map((name) => {
    return {
      name,
      in: "query",
      schema: { type: name === "force" ? "boolean" : "string", uniqueItems: true },
    };
  });
  const body = (types: readonly string[], schema: Fields) => ({
    requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema }])) },
    parameters,
  });
  const patchTypes = [
    ...["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"],
  ];
  return {
    [collection]: { get: action("list"), post: action("post", body(["application/json"], $ref)) },
    [`${collection}/{name}`]: {
      get: action("get"),
      put: action("put", body(["application/json"], $ref)),
      patch: action("patch", body(patchTypes, { type: "object" })),
      delete: action("delete"),
    },
  };
}
