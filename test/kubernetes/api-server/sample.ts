/** A custom resource with everything that a server checks: defaults, enums, list types, rules, columns, a status. */
import type { Fields, KubernetesObject } from "./objects.ts";

export const sampleGroup = "contract.svc.example";
export const sampleVersion = `${sampleGroup}/v1alpha1`;

const text = (maxLength: number) => ({ type: "string", maxLength });

const spec = {
  type: "object",
  description: "What is sent where.",
  required: ["url"],
  properties: {
    url: { ...text(200), pattern: "^https?://" },
    method: { type: "string", enum: ["GET", "POST"], default: "POST" },
    headers: { type: "object", maxProperties: 10, additionalProperties: text(100) },
    retries: { type: "integer", minimum: 0, maximum: 10 },
    least: { type: "integer" },
    tags: { type: "array", maxItems: 10, items: text(20), "x-kubernetes-list-type": "set" },
    steps: {
      type: "array",
      maxItems: 10,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", required: ["name"], properties: { name: text(20), value: text(20) } },
    },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
  "x-kubernetes-validations": [
    {
      rule: "!has(self.least) || !has(self.retries) || self.least <= self.retries",
      message: "least is above retries",
    },
    { rule: "!has(oldSelf.retries) || has(self.retries)", message: "retries cannot be taken away" },
  ],
};

const condition = {
  type: "object",
  required: ["type", "status"],
  properties: { type: text(40), status: text(10), reason: text(40), message: text(400) },
};

const status = {
  type: "object",
  properties: {
    observedGeneration: { type: "integer" },
    conditions: {
      type: "array",
      maxItems: 8,
      items: condition,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    },
  },
};

/** The definition of `Sample`. */
export const sampleDefinition: KubernetesObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `samples.${sampleGroup}` },
  spec: {
    group: sampleGroup,
    scope: "Namespaced",
    names: {
      plural: "samples",
      singular: "sample",
      kind: "Sample",
      shortNames: ["smpl"],
      categories: ["contract"],
    },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: "URL", type: "string", jsonPath: ".spec.url", priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec, status } } },
      },
    ],
  },
};

/** A `Sample`; `fields` are merged into its spec. */
export function makeSample(
  name: string,
  fields: Fields = {},
  labels: Record<string, string> = {},
): KubernetesObject {
  return {
    apiVersion: sampleVersion,
    kind: "Sample",
    metadata: { name, ...(Object.keys(labels).length === 0 ? {} : { labels }) },
    spec: { url: "https://a.example", ...fields },
  };
}
