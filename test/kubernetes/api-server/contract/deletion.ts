import { describe, expect, test } from "vitest";
import { makeSample, sampleVersion } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkDeletion(subject: ContractSubject): void {
  describe("deletion", () => {
    test("an object goes at once, and preconditions are kept", async () => {
      const made = await subject.create(makeSample("gone"));
      const wrong = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: "another" } };
      const refused = await subject.client.send("DELETE", `${subject.samples}/gone`, wrong);
      expect([refused.code, refused.body.reason]).toEqual([409, "Conflict"]);
      const right = { ...wrong, preconditions: { uid: made.metadata.uid } };
      const { code, body } = await subject.client.send("DELETE", `${subject.samples}/gone`, right);
      expect(code).toBe(200);
      expect(body).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "gone", uid: made.metadata.uid },
      });
      expect((await subject.client.send("DELETE", `${subject.samples}/gone`)).code).toBe(404);
    });

    test("a finalizer holds an object until it is taken away", async () => {
      const made = makeSample("held");
      await subject.create({
        ...made,
        metadata: { ...made.metadata, finalizers: ["contract.example/hold"] },
      });
      const marked = await subject.client.send("DELETE", `${subject.samples}/held`);
      expect(marked.body).toMatchObject({
        kind: "Sample",
        metadata: { deletionTimestamp: expect.any(String) },
      });
      const added = await subject.client.jsonPatch(`${subject.samples}/held`, [
        { op: "add", path: "/metadata/finalizers/-", value: "contract.example/more" },
      ]);
      expect(added.code).toBe(422);
      await subject.client.mergePatch(`${subject.samples}/held`, { metadata: { finalizers: null } });
      expect((await subject.client.get(`${subject.samples}/held`)).code).toBe(404);
    });

    test("a namespace goes with what is in it", async () => {
      const name = `${subject.namespace}-x`;
      const made = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      await subject.client.send("POST", "/api/v1/namespaces", made);
      const path = `/apis/${sampleVersion}/namespaces/${name}/samples`;
      await subject.client.send("POST", path, makeSample("inside"));
      const { code } = await subject.client.send("DELETE", `/api/v1/namespaces/${name}`);
      expect(code).toBe(200);
      const ended = async () => (await subject.client.get(`/api/v1/namespaces/${name}`)).code;
      await expect.poll(ended, { timeout: 60_000, interval: 50 }).toBe(404);
      expect((await subject.client.get(path)).body.items).toEqual([]);
    });
  });
}
