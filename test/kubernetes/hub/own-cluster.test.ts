/** The hub's own cluster: groups come from its SvcGroup objects, and vanish with them. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readKubeconfig } from "../../../server/kubernetes/exporter-process.ts";
import { call, startServer } from "../../server/running.ts";
import { startApiServer } from "../api-server/api-server.ts";
import type { KubernetesObject } from "../api-server/objects.ts";

const manifest = "server/kubernetes/charts/manifests/crds/svcgroups.rbac.svc.example.yaml";

test("groups are those of the objects, through restarts of both", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-own-"));
  const api = await startApiServer();
  api.create(parse(readFileSync(manifest, "utf8")) as KubernetesObject);
  const group = (name: string, oidcMappings: string[]) =>
    ({
      ...{ apiVersion: "rbac.svc.example/v1alpha1", kind: "SvcGroup" },
      metadata: { name },
      spec: { oidcMappings },
    }) as KubernetesObject;
  api.create(group("ops", ["sre"]));
  writeFileSync(join(dir, "kubeconfig"), api.kubeconfig());
  const settings = { dataDir: join(dir, "data"), ownCluster: readKubeconfig(join(dir, "kubeconfig")) };
  let server = await startServer(settings);
  const groups = async () => {
    const { json } = await call<{ groups: { name: string; oidcMappings: string[] }[] }>(
      server,
      "/api/v1/groups",
      {
        token: server.adminToken,
      },
    );
    return json.groups.map(({ name, oidcMappings }) => `${name}:${oidcMappings}`).sort();
  };
  const until = async (expected: string[]) => {
    for (let i = 0; i < 400 && String(await groups()) !== String(expected); i++) await sleep(25);
    expect(await groups()).toEqual(expected);
  };
  await until(["ops:sre"]);
  api.apply(group("dev", ["devs", "interns"]), "somebody");
  await until(["dev:devs,interns", "ops:sre"]);
  const removed = await call(server, "/api/v1/groups/ops", { method: "DELETE", token: server.adminToken });
  expect([removed.status, removed.text]).toEqual([
    409,
    expect.stringContaining("SvcGroup ops (cluster hub)"),
  ]);
  // An environment of the same name is another cluster.
  const environments = (path: string, method: string, body?: string) => {
    const headers = { "Content-Type": "application/json" };
    const request = { token: server.adminToken, method, headers, ...(body === undefined ? {} : { body }) };
    return call(server, `/api/v1/environments${path}`, request);
  };
  const hub = JSON.stringify({ environment: { name: "hub" } });
  expect((await environments("/create", "POST", hub)).status).toBe(200);
  expect((await environments("/hub", "DELETE")).status).toBe(200);
  expect(await groups()).toEqual(["dev:devs,interns", "ops:sre"]);

  await server.stop();
  api.delete(group("ops", []));
  api.apply(group("dev", ["devs"]), "somebody");
  server = await startServer(settings);
  await until(["dev:devs"]);
  await api.faults.restart();
  api.delete(group("dev", []));
  await until([]);
  await server.stop();
  await api.stop();
  rmSync(dir, { recursive: true });
}, 60_000);
