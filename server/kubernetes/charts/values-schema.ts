/** The schemas of the charts' values, of which Helm tells what is wrong before anything is applied. */

import * as z from "zod";

const text = z.string();
const flag = z.boolean();
const folder = z.string().regex(/^\//);
/** What Kubernetes itself checks. */
const object = z.record(z.string(), z.unknown());
const list = z.array(object);
const texts = z.array(z.string());
const quantity = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:[KMGTPE]i|[kMGTPE])?$/)
  .describe("a size such as 10Gi");
const port = z.int().min(1).max(65_535);
const annotations = z.record(z.string(), z.string());
const label = z.string().regex(/^[A-Za-z0-9][-A-Za-z0-9_./]*=[-A-Za-z0-9_.]*$/);
const namespaces = z.array(z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/));

const shared = {
  image: z.strictObject({
    repository: text.min(1),
    tag: text,
    digest: z.string().regex(/^(?:sha256:[0-9a-f]{64})?$/),
    pullPolicy: z.enum(["Always", "IfNotPresent", "Never"]),
  }),
  imagePullSecrets: list,
  nameOverride: text,
  crds: z.strictObject({ install: flag, brandCategory: flag }),
  serviceAccount: z.strictObject({ create: flag, name: text, annotations }),
  podDisruptionBudget: z.strictObject({ enabled: flag }),
  /** Values of charts above this one. */
  global: object.optional(),
};

const pod = { resources: object, podAnnotations: annotations, nodeSelector: annotations, tolerations: list };
const placed = { ...pod, affinity: object, priorityClassName: text };

const exporterValues = z.strictObject({
  ...shared,
  ...placed,
  hub: z.strictObject({ url: z.string().regex(/^(?:https?:\/\/\S+)?$/), caSecret: text }),
  token: z.strictObject({ existingSecret: text, key: text.min(1), value: text }),
  secretRefs: z.strictObject({ enabled: flag, namespaces }),
  configMaps: z.strictObject({ alertLabel: label, dashboardLabel: label, namespaces }),
  otlp: z.strictObject({ port }),
  buffer: z.strictObject({ size: quantity }),
  persistence: z.strictObject({ enabled: flag, size: quantity, storageClass: text }),
  extraArgs: texts,
  node: z.strictObject({
    ...pod,
    priorityClassName: text,
    enabled: flag,
    podsDir: folder,
    dockerDir: folder,
    stateDir: folder,
    buffer: z.strictObject({ size: quantity }),
    kubelet: z.strictObject({ enabled: flag, port, insecure: flag }),
  }),
  networkPolicy: z.strictObject({ enabled: flag, otlpFrom: list }),
});

const hubValues = z.strictObject({
  ...shared,
  ...placed,
  publicUrl: z.string().regex(/^(?:https?:\/\/\S+)?$/),
  config: object,
  secretEnvironment: texts,
  retention: z.strictObject({ age: text, bytes: text }),
  persistence: z.strictObject({ size: quantity, storageClass: text }),
  groups: z.strictObject({ enabled: flag }),
  service: z.strictObject({
    type: z.enum(["ClusterIP", "NodePort", "LoadBalancer"]),
    port,
    otlpGrpcPort: port,
    annotations,
  }),
  ingress: z.strictObject({ enabled: flag, className: text, annotations, host: text, tlsSecret: text }),
  terminationGracePeriodSeconds: z.int().min(0),
  networkPolicy: z.strictObject({ enabled: flag, from: list }),
});

/** `values.schema.json` of each chart, by its path below this folder. */
export function valuesSchemas(): Map<string, string> {
  const print = (schema: z.ZodType) =>
    `${JSON.stringify(z.toJSONSchema(schema, { target: "draft-7", io: "input" }), undefined, 2)}\n`;
  return new Map([
    ["exporter/values.schema.json", print(exporterValues)],
    ["hub/values.schema.json", print(hubValues)],
  ]);
}
