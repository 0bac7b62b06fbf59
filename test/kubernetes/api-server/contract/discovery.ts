import { describe, expect, test } from "vitest";
import type { Fields } from "../objects.ts";
import { sampleGroup, sampleVersion } from "../sample.ts";
import type { ContractSubject } from "./subject.ts";

export function checkDiscovery(subject: ContractSubject): void {
  describe("discovery", () => {
    test("names the version, the groups and the resources", async () => {
      expect((await subject.client.get("/version")).body).toMatchObject({
        major: "1",
        minor: expect.any(String),
      });
      expect((await subject.client.get("/api")).body).toMatchObject({
        kind: "APIVersions",
        versions: ["v1"],
      });
      const groups = (await subject.client.get("/apis")).body.groups as Fields[];
      expect(groups.map(({ name }) => name)).toEqual(expect.arrayContaining(["apps", "batch", sampleGroup]));
      const { resources } = (await subject.client.get(`/apis/${sampleVersion}`)).body as {
        resources: Fields[];
      };
      const sample = resources.find(({ name }) => name === "samples");
      expect(sample).toMatchObject({
        kind: "Sample",
        namespaced: true,
        shortNames: ["smpl"],
        categories: ["contract"],
      });
      expect(resources.find(({ name }) => name === "samples/status")).toMatchObject({ kind: "Sample" });
    });

    test("OpenAPI v3 says that patches check fields", async () => {
      const findAddress = async () => {
        const { paths } = (await subject.client.get("/openapi/v3")).body as { paths: Record<string, Fields> };
        return paths[`apis/${sampleVersion}`]?.serverRelativeURL as string;
      };
      // A real server publishes the document of a definition some seconds after it serves its objects.
      await expect.poll(findAddress, { timeout: 20_000 }).toBeDefined();
      const address = await findAddress();
      const document = (await subject.client.get(address)).body as {
        paths: Record<string, { patch?: Fields }>;
      };
      const patch = document.paths[`/apis/${sampleVersion}/namespaces/{namespace}/samples/{name}`]!.patch!;
      expect((patch.parameters as Fields[]).map(({ name }) => name)).toContain("fieldValidation");
      expect(patch["x-kubernetes-group-version-kind"]).toMatchObject({ kind: "Sample" });
    });
  });
}
