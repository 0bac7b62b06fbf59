/** The CustomResourceDefinitions of all kinds. */

import { apiGroups, apiVersion, type CustomKind, type KindName } from "./custom-kinds.ts";
import { kindSchemas } from "./kind-schemas.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

/**
 * The definition of a kind. `brandCategory`: it is in the category `svc` too, which hides the short name `svc` of
 * Services from kubectl.
 */
export function customResourceDefinition(
  { kind, plural, group, scope, shortNames }: CustomKind,
  { brandCategory }: { brandCategory: boolean },
) {
  const apiGroup = apiGroups[group];
  const { spec, extensions } = kindSchemas[kind as KindName];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [...shortNames],
        categories: [...(brandCategory ? ["svc"] : []), `svc-${group}`],
      },
      versions: [
        {
          name: apiVersion,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [...printerColumns],
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object" },
                spec: structuralSchema(spec, extensions),
                status: statusSchema,
              },
            },
          },
        },
      ],
    },
  };
}

const readyCondition = ".status.conditions[?(@.type=='Ready')]";

const printerColumns = [
  { name: "Ready", type: "string", jsonPath: `${readyCondition}.status` },
  { name: "Reason", type: "string", jsonPath: `${readyCondition}.reason` },
  { name: "Message", type: "string", priority: 1, jsonPath: `${readyCondition}.message` },
  { name: "ID", type: "string", priority: 1, jsonPath: ".status.id" },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
] as const;

const condition: StructuralSchema = {
  type: "object",
  required: ["type", "status", "reason", "message", "lastTransitionTime"],
  properties: {
    type: { type: "string", maxLength: 316 },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string", minLength: 1, maxLength: 1_024 },
    message: { type: "string", maxLength: 32_768 },
    lastTransitionTime: { type: "string", format: "date-time" },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
  },
};

const statusSchema: StructuralSchema = {
  type: "object",
  properties: {
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    id: { type: "string", maxLength: 1_024 },
    lastSyncTime: { type: "string", format: "date-time" },
    conditions: {
      type: "array",
      maxItems: 16,
      items: condition,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    },
  },
};
