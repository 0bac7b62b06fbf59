/**
 * What the exporter relies on in an API server. The same assertions run against the double and, where the variable
 * KUBECONFIG names a file, against the server that it names: that run shows that the double is honest.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer } from "./api-server.ts";
import { checkApply } from "./contract/apply.ts";
import { checkCoreKinds } from "./contract/core-kinds.ts";
import { checkDeletion } from "./contract/deletion.ts";
import { checkDiscovery } from "./contract/discovery.ts";
import { ContractSubject, type RunningServer } from "./contract/subject.ts";
import { checkWatches } from "./contract/watches.ts";
import { checkWrites } from "./contract/writes.ts";

const servers: [string, () => Promise<RunningServer>][] = [["the double", () => startApiServer()]];
const file = process.env.KUBECONFIG;
if (file !== undefined && file !== "") {
  const given: RunningServer = { kubeconfig: () => readFileSync(file, "utf8"), stop: async () => undefined };
  servers.push(["the server of KUBECONFIG", async () => given]);
}

describe.each(servers)("%s", (_name, start) => {
  const subject = new ContractSubject();
  beforeAll(async () => subject.start(await start()));
  afterAll(() => subject.stop());

  checkDiscovery(subject);
  checkWrites(subject);
  checkApply(subject);
  checkDeletion(subject);
  checkWatches(subject);
  checkCoreKinds(subject);

  test("a token that is not known is 401", async () => {
    const headers = { authorization: "Bearer nobody" };
    const { code, body } = await subject.client.get(subject.samples, { headers });
    expect([code, body.reason]).toEqual([401, "Unauthorized"]);
  });
});
