/** kubectl with the shipped manifests: every kind is applied, waited for, shown and deleted. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { Exporter, readKubeconfig } from "../../../server/kubernetes/exporter-process.ts";
import { alert, dashboard } from "../../server/control/samples.ts";
import { call, type Running, startServer } from "../../server/running.ts";
import { type ApiServer, startApiServer } from "../api-server/api-server.ts";
import { findReasonToSkip, runKubectl } from "../api-server/kubectl.ts";

const reason = findReasonToSkip();
const observability = "observability.svc.example/v1alpha1";
const rbac = "rbac.svc.example/v1alpha1";
const grants = { groups: ["ops"], rules: [{ signals: ["logs"] }] };

/** API servers drop nulls, so that an object with one differs from what is stored each time. */
function withoutNulls<T>(value: T): T {
  const drop = (_: string, each: unknown) => (each === null ? undefined : each);
  return JSON.parse(JSON.stringify(value, drop)) as T;
}

const kinds: [kind: string, shortName: string, apiVersion: string, isNamespaced: boolean, spec: unknown][] = [
  ["SvcAlert", "malert", observability, true, { timeseries: alert.timeseries }],
  [
    "SvcDashboard",
    "mdashboard",
    observability,
    true,
    { title: "Shop", content: withoutNulls(dashboard.content) },
  ],
  ["SvcWebhook", "mwebhook", observability, true, { url: "https://hooks.example/x", body: "{}" }],
  [
    "SvcClusterIngestionRule",
    "mcingrule",
    observability,
    false,
    {
      rules: [
        {
          signals: ["logs"],
          action: "Exclude",
          match: { matchExpressions: [{ key: "x", operator: "In", values: ["y"] }] },
        },
      ],
    },
  ],
  ["SvcGroup", "mgroup", rbac, false, { oidcMappings: ["sre"] }],
  ["SvcNamespaceTelemetryRule", "mntelrule", rbac, true, grants],
  ["SvcClusterTelemetryRule", "mctelrule", rbac, false, grants],
  [
    "SvcNamespaceResourceRule",
    "mnresrule",
    rbac,
    true,
    { groups: ["ops"], rules: [{ resources: ["alerts"], verbs: ["read"] }] },
  ],
  [
    "SvcClusterResourceRule",
    "mcresrule",
    rbac,
    false,
    { groups: ["ops"], rules: [{ resources: ["alerts"], verbs: ["read"], path: "/shop/" }] },
  ],
];

describe.skipIf(reason !== undefined)(`kubectl${reason === undefined ? "" : ` (${reason})`}`, () => {
  let folder: string;
  let api: ApiServer;
  let hub: Running;
  let exporter: Exporter;

  const kubectl = async (args: string, input = ""): Promise<string> => {
    const { code, out, err } = await runKubectl(folder, args.split(" "), input);
    expect(code, `kubectl ${args}: ${err}`).toBe(0);
    return out;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-kubectl-"));
    api = await startApiServer();
    writeFileSync(join(folder, "kubeconfig"), api.kubeconfig());
    await kubectl("apply -k server/kubernetes/charts/manifests/crds");
    const connection = readKubeconfig(join(folder, "kubeconfig"));
    hub = await startServer({ ownCluster: connection });
    const made = await call<{ token: string }>(hub, "/api/v1/environments/create", {
      method: "POST",
      token: hub.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ environment: { name: "prod" } }),
    });
    exporter = new Exporter({
      connection,
      hubUrl: hub.url,
      token: () => made.json.token,
      readsSecrets: false,
      configMaps: undefined,
      log: () => undefined,
    });
    await exporter.start();
  }, 60_000);

  afterAll(async () => {
    await exporter.close();
    await hub.stop();
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  test.each(kinds)("%s", async (kind, shortName, apiVersion, isNamespaced, spec) => {
    const metadata = { name: "sample", ...(isNamespaced ? { namespace: "default" } : {}) };
    // kubectl reads YAML 1.1, where a plain `y` is a boolean.
    const manifest = stringify({ apiVersion, kind, metadata, spec }, { schema: "yaml-1.1" });
    expect(await kubectl("apply -f -", manifest)).toMatch(/sample created/);
    expect(await kubectl("apply -f -", manifest)).toMatch(/sample unchanged/);
    await kubectl(`wait --for=condition=Ready --timeout=20s ${shortName}/sample`);
    const table = await kubectl(`get ${shortName} -o wide`);
    expect(table.split("\n", 1)[0]).toMatch(/^NAME +READY +REASON +MESSAGE +ID +AGE/);
    expect(table).toMatch(/sample +True +Synced/);
    expect(await kubectl(`describe ${shortName} sample`)).toContain("Observed Generation:");
    expect(await kubectl("get svc")).toContain("sample");
    expect(await kubectl(`delete ${shortName} sample`)).toContain("deleted");
  });
});
