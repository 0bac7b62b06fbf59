import { describe, expect, test } from "vitest";
import type { Fields } from "../objects.ts";
import { makeSample, sampleGroup, sampleVersion } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkWrites(subject: ContractSubject): void {
  describe("writes", () => {
    test("a creation sets identity, generation and defaults", async () => {
      const made = await subject.create(makeSample("made"));
      expect(made.metadata).toMatchObject({
        name: "made",
        namespace: subject.namespace,
        generation: 1,
        uid: expect.any(String),
      });
      expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(made.spec).toEqual({ url: "https://a.example", method: "POST" });
    });

    test("names are given where they are asked for", async () => {
      const { name: _name, ...metadata } = { ...makeSample("").metadata, generateName: "given-" };
      const { body } = await subject.client.send("POST", subject.samples, { ...makeSample(""), metadata });
      expect((body.metadata as Fields).name).toMatch(/^given-[a-z0-9]{5}$/);
    });

    test("a second creation is 409, a missing object 404, a missing resource 404", async () => {
      await subject.create(makeSample("twice"));
      const twice = await subject.client.send("POST", subject.samples, makeSample("twice"));
      expect(twice.body).toMatchObject({
        kind: "Status",
        status: "Failure",
        reason: "AlreadyExists",
        code: 409,
        message: `samples.${sampleGroup} "twice" already exists`,
        details: { name: "twice", group: sampleGroup, kind: "samples" },
      });
      const missing = await subject.client.get(`${subject.samples}/nobody`);
      expect(missing.body).toMatchObject({
        reason: "NotFound",
        code: 404,
        message: `samples.${sampleGroup} "nobody" not found`,
      });
      expect((await subject.client.get(`/apis/${sampleGroup}/v1/samples`)).code).toBe(404);
    });

    test("a namespace that does not exist takes nothing", async () => {
      const path = `/apis/${sampleVersion}/namespaces/nowhere-${subject.namespace}/samples`;
      const { code, body } = await subject.client.send("POST", path, makeSample("lost"));
      expect([code, body.reason]).toEqual([404, "NotFound"]);
    });

    test("unknown fields are dropped with a warning, or refused where they are checked strictly", async () => {
      const warned = await subject.client.send(
        "POST",
        subject.samples,
        makeSample("warned", { colour: "red" }),
      );
      expect(warned.code).toBe(201);
      expect(warned.headers.warning).toContain('unknown field \\"spec.colour\\"');
      expect((warned.body.spec as Fields).colour).toBeUndefined();
      const path = `${subject.samples}?fieldValidation=Strict`;
      const strict = await subject.client.send("POST", path, makeSample("strict", { colour: "red" }));
      expect(strict.code).toBe(400);
      expect(strict.body.message).toContain('strict decoding error: unknown field "spec.colour"');
      const open = await subject.client.send(
        "POST",
        path,
        makeSample("open", { open: { any: { thing: 1 } } }),
      );
      expect(open.body.spec).toMatchObject({ open: { any: { thing: 1 } } });
    });

    test.each<[string, Fields, string, string]>([
      ["a missing field", { url: undefined }, "spec.url", "Required value"],
      ["a value outside an enum", { method: "PUT" }, "spec.method", 'supported values: "GET", "POST"'],
      ["a wrong type", { retries: "many" }, "spec.retries", "must be of type integer"],
      ["a number out of range", { retries: 11 }, "spec.retries", "less than or equal to 10"],
      ["a pattern", { url: "ftp://a" }, "spec.url", "should match '^https?://'"],
      ["a broken rule", { retries: 1, least: 2 }, "spec", "least is above retries"],
      ["a double in a set", { tags: ["a", "a"] }, "spec.tags[1]", "Duplicate value"],
      ["a list that is too long", { tags: [..."abcdefghijk"] }, "spec.tags", "must have at most 10 items"],
      ["a string that is too long", { headers: { a: "x".repeat(101) } }, "spec.headers.a", "Too long"],
    ])("%s is 422 with the field", async (_what, fields, field, message) => {
      const { code, body } = await subject.client.send("POST", subject.samples, makeSample("wrong", fields));
      expect([code, body.reason]).toEqual([422, "Invalid"]);
      const { causes } = body.details as { causes: { field: string; message: string }[] };
      const cause = causes.find((each) => each.field === field);
      expect(cause?.message, JSON.stringify(causes)).toContain(message);
    });

    test("a rule over the former object holds for updates alone", async () => {
      await subject.create(makeSample("once", { retries: 1 }));
      const { code, body } = await subject.client.mergePatch(`${subject.samples}/once`, {
        spec: { retries: null },
      });
      expect(code).toBe(422);
      expect(body.message).toContain("retries cannot be taken away");
    });

    test("a replacement needs the stored resource version", async () => {
      const made = await subject.create(makeSample("replaced"));
      const next = { ...made, spec: { ...made.spec, retries: 2 } };
      const put = await subject.client.send("PUT", `${subject.samples}/replaced`, next);
      expect(put.code).toBe(200);
      const stale = await subject.client.send("PUT", `${subject.samples}/replaced`, next);
      expect([stale.code, stale.body.reason]).toEqual([409, "Conflict"]);
      expect(stale.body.message).toContain("the object has been modified");
      const { resourceVersion: _revision, ...metadata } = made.metadata;
      const blind = await subject.client.send("PUT", `${subject.samples}/replaced`, { ...next, metadata });
      expect([blind.code, blind.body.reason]).toEqual([422, "Invalid"]);
    });

    test("the generation follows the spec alone, and what changes nothing is not written", async () => {
      await subject.create(makeSample("counted"));
      const labelled = await subject.client.mergePatch(`${subject.samples}/counted`, {
        metadata: { labels: { a: "b" } },
      });
      expect(labelled.body.metadata).toMatchObject({ generation: 1, labels: { a: "b" } });
      const changed = await subject.client.mergePatch(`${subject.samples}/counted`, { spec: { retries: 3 } });
      expect(changed.body.metadata).toMatchObject({ generation: 2 });
      const again = await subject.client.mergePatch(`${subject.samples}/counted`, { spec: { retries: 3 } });
      expect(again.body.metadata).toEqual(changed.body.metadata);
    });

    test("status and spec are written apart", async () => {
      const withStatus = { ...makeSample("apart"), status: { observedGeneration: 9 } };
      expect((await subject.create(withStatus)).status).toBeUndefined();
      const path = `${subject.samples}/apart`;
      await subject.client.mergePatch(path, { status: { observedGeneration: 8 } });
      const patch = { spec: { retries: 4 }, status: { observedGeneration: 1 } };
      const { code, body } = await subject.client.mergePatch(`${path}/status`, patch);
      expect(code).toBe(200);
      expect(body.status).toEqual({ observedGeneration: 1 });
      expect(body.metadata).toMatchObject({ generation: 1 });
      expect((body.spec as Fields).retries).toBeUndefined();
      await subject.client.mergePatch(path, { spec: { retries: 5 }, status: null });
      expect(await subject.read("apart")).toMatchObject({
        spec: { retries: 5 },
        status: { observedGeneration: 1 },
      });
    });

    test("JSON patches apply whole or not at all", async () => {
      await subject.create(makeSample("patched", { tags: ["a"] }));
      const path = `${subject.samples}/patched`;
      const { body } = await subject.client.jsonPatch(path, [
        { op: "test", path: "/spec/url", value: "https://a.example" },
        { op: "add", path: "/spec/tags/-", value: "b" },
        { op: "replace", path: "/spec/method", value: "GET" },
      ]);
      expect(body.spec).toMatchObject({ tags: ["a", "b"], method: "GET" });
      const refused = await subject.client.jsonPatch(path, [
        { op: "remove", path: "/spec/tags" },
        { op: "test", path: "/spec/url", value: "https://b.example" },
      ]);
      expect(refused.code).toBe(422);
      expect((await subject.read("patched")).spec).toMatchObject({ tags: ["a", "b"] });
    });

    test("custom resources take no strategic patch, and protobuf is not theirs either", async () => {
      await subject.create(makeSample("plain"));
      const type = "application/strategic-merge-patch+json";
      expect((await subject.client.send("PATCH", `${subject.samples}/plain`, {}, { type })).code).toBe(415);
      const protobuf = "application/vnd.kubernetes.protobuf";
      expect((await subject.client.send("POST", subject.samples, {}, { type: protobuf })).code).toBe(415);
    });

    test("a dry run answers as a write and writes nothing", async () => {
      const dry = await subject.client.send("POST", `${subject.samples}?dryRun=All`, makeSample("dry"));
      expect([dry.code, (dry.body.spec as Fields).method]).toEqual([201, "POST"]);
      expect((await subject.client.get(`${subject.samples}/dry`)).code).toBe(404);
      await subject.create(makeSample("dry"));
      await subject.client.send(
        "PATCH",
        `${subject.samples}/dry?dryRun=All`,
        { spec: { retries: 1 } },
        { type: "application/merge-patch+json" },
      );
      await subject.client.send("DELETE", `${subject.samples}/dry?dryRun=All`);
      expect((await subject.read("dry")).spec!.retries).toBeUndefined();
    });
  });
}
