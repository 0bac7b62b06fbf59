import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Fields } from "../objects.ts";
import { makeSample, sampleVersion } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkApply(subject: ContractSubject): void {
  describe("server-side apply", () => {
    const configuration = (name: string, spec: Fields) => ({ ...makeSample(name), spec });

    test("creates, then changes and removes what the manager owns", async () => {
      const path = `${subject.samples}/applied`;
      const first = { url: "https://a.example", retries: 1, headers: { a: "1", b: "2" } };
      const made = await subject.client.apply(path, "one", configuration("applied", first));
      expect(made.code).toBe(201);
      expect((made.body.metadata as Fields).managedFields).toMatchObject([
        { manager: "one", operation: "Apply", apiVersion: sampleVersion, fieldsType: "FieldsV1" },
      ]);
      const next = { url: "https://a.example", retries: 1, headers: { a: "3" } };
      const { code, body } = await subject.client.apply(path, "one", configuration("applied", next));
      expect([code, body.spec]).toEqual([200, { ...next, method: "POST" }]);
    });

    test("an apply that changes nothing writes nothing", async () => {
      const path = `${subject.samples}/calm`;
      const first = await subject.client.apply(
        path,
        "one",
        configuration("calm", { url: "https://a.example" }),
      );
      await sleep(1_100);
      const again = await subject.client.apply(
        path,
        "one",
        configuration("calm", { url: "https://a.example" }),
      );
      expect(again.body.metadata).toEqual(first.body.metadata);
    });

    test("another manager's field is a conflict, unless the values are equal or force is used", async () => {
      const path = `${subject.samples}/shared`;
      await subject.client.apply(
        path,
        "one",
        configuration("shared", { url: "https://a.example", retries: 1 }),
      );
      const refused = await subject.client.apply(
        path,
        "two",
        configuration("shared", { url: "https://a.example", retries: 2 }),
      );
      expect([refused.code, refused.body.reason]).toEqual([409, "Conflict"]);
      const { causes } = refused.body.details as { causes: Fields[] };
      expect(causes).toMatchObject([{ reason: "FieldManagerConflict", field: ".spec.retries" }]);
      expect(causes[0]!.message).toContain('conflict with "one"');
      const equal = configuration("shared", { url: "https://a.example" });
      expect((await subject.client.apply(path, "two", equal)).code).toBe(200);
      const forced = configuration("shared", { url: "https://a.example", retries: 2 });
      expect((await subject.client.apply(path, "two", forced, "&force=true")).body.spec).toMatchObject({
        retries: 2,
      });
      await subject.client.apply(path, "one", configuration("shared", { url: "https://a.example" }));
      expect((await subject.read("shared")).spec!.retries).toBe(2);
    });

    test("lists merge by their type", async () => {
      const path = `${subject.samples}/lists`;
      const of = (name: string, tags: string[]) => {
        return configuration("lists", { url: "https://a.example", tags, steps: [{ name, value: name }] });
      };
      await subject.client.apply(path, "one", of("x", ["a", "b"]));
      await subject.client.apply(path, "two", of("y", ["b", "c"]));
      expect((await subject.read("lists")).spec).toMatchObject({
        tags: ["a", "b", "c"],
        steps: [{ name: "x" }, { name: "y" }],
      });
      await subject.client.apply(path, "one", configuration("lists", { url: "https://a.example" }));
      expect((await subject.read("lists")).spec).toMatchObject({ tags: ["b", "c"], steps: [{ name: "y" }] });
    });

    test("an update takes over the fields that it changes", async () => {
      const path = `${subject.samples}/taken`;
      await subject.client.apply(
        path,
        "one",
        configuration("taken", { url: "https://a.example", retries: 1 }),
      );
      await subject.client.send(
        "PATCH",
        `${path}?fieldManager=hand`,
        { spec: { retries: 7 } },
        { type: "application/merge-patch+json" },
      );
      const back = await subject.client.apply(
        path,
        "one",
        configuration("taken", { url: "https://a.example", retries: 1 }),
      );
      expect(back.code).toBe(409);
      expect((back.body.details as { causes: Fields[] }).causes[0]!.message).toContain(
        'conflict with "hand"',
      );
    });

    test("conditions of a status belong to those who apply them", async () => {
      await subject.create(makeSample("judged"));
      const path = `${subject.samples}/judged/status`;
      const of = (type: string, status: string) => ({
        ...{ apiVersion: sampleVersion, kind: "Sample", metadata: { name: "judged" } },
        status: { conditions: [{ type, status }] },
      });
      expect((await subject.client.apply(path, "one", of("Ready", "True"))).code).toBe(200);
      const { body } = await subject.client.apply(path, "two", of("Synced", "False"));
      expect(body.status).toEqual({
        conditions: [
          { type: "Ready", status: "True" },
          { type: "Synced", status: "False" },
        ],
      });
      expect(body.metadata).toMatchObject({ generation: 1 });
      const entries = (body.metadata as Fields).managedFields as Fields[];
      expect(
        entries.filter(({ subresource }) => subresource === "status").map(({ manager }) => manager),
      ).toEqual(["one", "two"]);
      const missing = { ...of("Ready", "True"), metadata: { name: "nobody" } };
      expect((await subject.client.apply(`${subject.samples}/nobody/status`, "one", missing)).code).toBe(404);
    });
  });
}
