import { describe, expect, test } from "vitest";
import type { Fields } from "../objects.ts";
import { makeSample } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkCoreKinds(subject: ContractSubject): void {
  describe("core kinds", () => {
    test("items of lists come without their kind, those of custom resources with it", async () => {
      const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "plain" }, data: { a: "b" } };
      expect((await subject.client.send("POST", `${subject.core}/configmaps`, made)).code).toBe(201);
      const path = `${subject.core}/configmaps?fieldSelector=metadata.name%3Dplain`;
      const { body } = await subject.client.get(path);
      expect(body.kind).toBe("ConfigMapList");
      expect((body.items as Fields[])[0]!.kind).toBeUndefined();
      await subject.create(makeSample("whole"));
      const whole = await subject.client.get(`${subject.samples}?fieldSelector=metadata.name%3Dwhole`);
      expect((whole.body.items as Fields[])[0]!.kind).toBe("Sample");
    });

    test("secrets keep their values in Base64", async () => {
      const made = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "key" },
        stringData: { password: "open" },
      };
      const { body } = await subject.client.send("POST", `${subject.core}/secrets`, made);
      expect(body).toMatchObject({
        type: "Opaque",
        data: { password: Buffer.from("open").toString("base64") },
      });
      expect(body.stringData).toBeUndefined();
    });

    test("events are one collection in two groups", async () => {
      const modern = {
        ...{ apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name: "seen" } },
        ...{ eventTime: "2026-01-01T00:00:00.000000Z", type: "Warning", reason: "Refused", note: "a reason" },
        ...{ action: "Sync", reportingController: "svc.example/exporter", reportingInstance: "one" },
        regarding: { apiVersion: "v1", kind: "ConfigMap", name: "plain", namespace: subject.namespace },
      };
      const path = `/apis/events.k8s.io/v1/namespaces/${subject.namespace}/events`;
      expect((await subject.client.send("POST", path, modern)).code).toBe(201);
      const { body } = await subject.client.get(`${subject.core}/events/seen`);
      expect(body).toMatchObject({
        apiVersion: "v1",
        message: "a reason",
        involvedObject: { name: "plain" },
      });
    });

    test("leases are replaced by those who read them last", async () => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${subject.namespace}/leases`;
      const made = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "lead" } };
      const { body } = await subject.client.send("POST", path, {
        ...made,
        spec: { holderIdentity: "one", leaseDurationSeconds: 15 },
      });
      const take = (holderIdentity: string) => {
        return subject.client.send("PUT", `${path}/lead`, {
          ...body,
          spec: { holderIdentity, leaseDurationSeconds: 15 },
        });
      };
      expect((await take("two")).code).toBe(200);
      expect((await take("three")).code).toBe(409);
    });

    test("annotations have an end", async () => {
      const annotations = { large: "x".repeat(256 * 1024) };
      const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large", annotations } };
      const { code, body } = await subject.client.send("POST", `${subject.core}/configmaps`, made);
      expect([code, body.reason]).toEqual([422, "Invalid"]);
      expect(body.message).toContain("may not be more than 262144 bytes");
    });
  });
}
