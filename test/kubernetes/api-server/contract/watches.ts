import { beforeAll, describe, expect, test } from "vitest";
import { readWatch } from "../client.ts";
import type { Fields, KubernetesObject } from "../objects.ts";
import { makeSample } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkWatches(subject: ContractSubject): void {
  describe("lists and watches", () => {
    const query = (text: string) => `${subject.samples}?${text}`;
    const namesOf = (body: Fields) => (body.items as KubernetesObject[]).map(({ metadata }) => metadata.name);
    const batch = encodeURIComponent("batch in (a, b)");

    beforeAll(async () => {
      for (let i = 0; i < 7; i++)
        await subject.create(makeSample(`row-${i}`, {}, { batch: i < 5 ? "a" : "b" }));
    });

    test("pages show one revision", async () => {
      const first = await subject.client.get(query(`limit=3&labelSelector=${batch}`));
      const token = (first.body.metadata as Fields).continue as string;
      await subject.create(makeSample("row-3x", {}, { batch: "a" }));
      const second = await subject.client.get(
        query(`limit=10&labelSelector=${batch}&continue=${encodeURIComponent(token)}`),
      );
      expect([...namesOf(first.body), ...namesOf(second.body)]).toEqual(
        [0, 1, 2, 3, 4, 5, 6].map((i) => `row-${i}`),
      );
      expect((second.body.metadata as Fields).continue ?? "").toBe("");
      expect((second.body.metadata as Fields).resourceVersion).toBe(
        (first.body.metadata as Fields).resourceVersion,
      );
      await subject.client.send("DELETE", `${subject.samples}/row-3x`);
    });

    test.each([
      ["labelSelector=batch%3Db", ["row-5", "row-6"]],
      ["labelSelector=batch%3D%3Da,batch!%3Db&limit=2", ["row-0", "row-1"]],
      [`labelSelector=${encodeURIComponent("batch,batch notin (a)")}`, ["row-5", "row-6"]],
      ["fieldSelector=metadata.name%3Drow-4", ["row-4"]],
    ])("selects by %s", async (text, names) => {
      expect(namesOf((await subject.client.get(query(text))).body)).toEqual(names);
    });

    test("a field that cannot be selected by is 400", async () => {
      const { code, body } = await subject.client.get(query("fieldSelector=spec.url%3Da"));
      expect(code).toBe(400);
      expect(body.message).toContain("field label not supported: spec.url");
    });

    test("a watch goes on from the revision of a list", async () => {
      const list = await subject.client.get(query("limit=1"));
      const { resourceVersion } = list.body.metadata as { resourceVersion: string };
      await subject.create(makeSample("watched"));
      await subject.client.mergePatch(`${subject.samples}/watched`, { spec: { retries: 1 } });
      await subject.client.send("DELETE", `${subject.samples}/watched`);
      const path = query(
        `watch=true&resourceVersion=${resourceVersion}&fieldSelector=metadata.name%3Dwatched`,
      );
      const events = await readWatch(subject.client, path, ({ type }) => type === "DELETED");
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
      const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
      expect(revisions.toSorted((a, b) => a - b)).toEqual(revisions);
      expect(new Set(revisions).size).toBe(3);
    });

    test("an object that a label brings in or out is added or deleted to a watch", async () => {
      const { body } = await subject.client.get(query("limit=1"));
      const { resourceVersion } = body.metadata as { resourceVersion: string };
      await subject.create(makeSample("moving"));
      await subject.client.mergePatch(`${subject.samples}/moving`, { metadata: { labels: { here: "yes" } } });
      await subject.client.mergePatch(`${subject.samples}/moving`, { metadata: { labels: { here: "no" } } });
      const path = query(`watch=true&resourceVersion=${resourceVersion}&labelSelector=here%3Dyes`);
      const events = await readWatch(subject.client, path, ({ type }) => type === "DELETED");
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
    });

    test("a watch ends after timeoutSeconds", async () => {
      const path = query("watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Drow-0");
      const events = await readWatch(subject.client, path, () => false);
      expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([["ADDED", "row-0"]]);
    });

    test("a table has the columns of the definition", async () => {
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
      const { body } = await subject.client.get(query("fieldSelector=metadata.name%3Drow-0"), { accept });
      expect(body.kind).toBe("Table");
      const columns = body.columnDefinitions as { name: string; priority: number }[];
      expect(columns.map(({ name, priority }) => [name, priority])).toEqual([
        ["Name", 0],
        ["Ready", 0],
        ["URL", 1],
        ["Age", 0],
      ]);
      const [row] = body.rows as { cells: unknown[]; object: Fields }[];
      expect(row!.cells[0]).toBe("row-0");
      expect(row!.object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "row-0" } });
    });
  });
}
