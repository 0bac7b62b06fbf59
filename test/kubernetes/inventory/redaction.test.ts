/** What is sent of an object has no value of an environment variable or header, and no annotation that copies objects. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubernetesObject } from "../../../server/kubernetes/cluster/kubernetes-object.ts";
import { redact } from "../../../server/kubernetes/inventory/redaction.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const secret = "hunter2";

const container = fc.record(
  {
    name: fc.constantFrom("app", "side"),
    image: fc.constantFrom("shop/cart:1", "shop/cart:2"),
    env: fc.array(
      fc.oneof(
        fc.record({ name: fc.constantFrom("A", "B"), value: fc.constant(secret) }),
        fc.constant({ name: "C", valueFrom: { secretKeyRef: { name: "pager", key: "token" } } }),
        fc.constantFrom(null, secret),
      ),
      { maxLength: 3 },
    ),
    livenessProbe: fc.constant({
      httpGet: { path: "/", httpHeaders: [{ name: "Authorization", value: secret }, secret] },
    }),
  },
  { requiredKeys: ["name", "image"] },
);
const annotations = fc.record(
  {
    note: fc.constant("kept"),
    "kubectl.kubernetes.io/last-applied-configuration": fc.constant(`{"env":"${secret}"}`),
    "tool.example/applied": fc.constant(`${"x".repeat(2_000)}${secret}`),
  },
  { requiredKeys: ["note"] },
);
const podSpec = fc.record(
  {
    containers: fc.array(container, { maxLength: 2 }),
    initContainers: fc.array(container, { maxLength: 2 }),
    ephemeralContainers: fc.array(container, { maxLength: 1 }),
  },
  { requiredKeys: ["containers"] },
);
const template = fc.record({ metadata: fc.record({ annotations }), spec: podSpec });
const spec = fc.oneof(
  podSpec,
  fc.record({ replicas: fc.constant(3), template }),
  fc.record({
    schedule: fc.constant("* * * * *"),
    jobTemplate: fc.record({ spec: fc.record({ template }) }),
  }),
);

test("secrets are left out, all else stays", () => {
  fc.assert(
    fc.property(spec, annotations, (sent, noted) => {
      const object = {
        ...{ apiVersion: "apps/v1", kind: "Deployment", spec: sent },
        metadata: { name: "cart", uid: "u", annotations: noted, managedFields: [{ manager: secret }] },
        status: { conditions: [{ type: "Ready", status: "True" }] },
      } as unknown as KubernetesObject;
      const before = JSON.stringify(object);
      const redacted = redact(object);
      const text = JSON.stringify(redacted);
      expect(text).not.toContain(secret);
      expect(JSON.stringify(object)).toBe(before);
      expect(redacted.status).toEqual(object.status);
      expect(redacted.metadata).toEqual({ name: "cart", uid: "u", annotations: { note: "kept" } });
      const count = (of: string, what: string) => of.split(what).length;
      for (const what of [
        '"image":"shop/cart:2"',
        '"name":"app"',
        '"name":"C"',
        '"replicas":3',
        '"note":"kept"',
      ])
        expect(count(text, what)).toBe(count(before, what));
    }),
    { seed, numRuns: 500 },
  );
});

test("a node's images are left out, those of others are not", () => {
  const make = (kind: string) =>
    ({ kind, metadata: { name: "a", uid: "u" }, status: { images: ["x"], phase: "up" } }) as KubernetesObject;
  expect(redact(make("Node")).status).toEqual({ phase: "up" });
  expect(redact(make("Pod")).status).toEqual({ images: ["x"], phase: "up" });
});
