/** The commands for manifests: what a hub prints is what a cluster takes, and what is wrong is told with its line. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { exportManifests } from "../../server/kubernetes/manifests/export.ts";
import type { Alert } from "../../server/model/alert.ts";
import { managedId } from "../../server/model/resource-id.ts";
import { runSvc } from "../server/command/program.ts";
import { alert, dashboard, webhook } from "../server/control/samples.ts";
import { call } from "../server/running.ts";
import type { KubernetesObject } from "./api-server/objects.ts";
import { ClusterAndHub } from "./exporter/cluster-and-hub.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-manifests-"));
afterAll(() => rmSync(dir, { recursive: true }));

const objectsOf = (text: string) =>
  parseAllDocuments(text, { schema: "yaml-1.1" }).map(
    (document) => (document as { toJS(): unknown }).toJS() as KubernetesObject & { spec: object },
  );

describe("svc export-manifests", () => {
  let both: ClusterAndHub;
  beforeAll(async () => {
    both = await ClusterAndHub.start();
    const post = async (path: string, body: object) => {
      const { status, text } = await call(both.hub, `/api/v1/${path}`, {
        method: "POST",
        token: both.hub.adminToken,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      expect([path, status, text]).toEqual([path, 200, text]);
    };
    await post("webhooks", { webhook });
    const [rule] = alert.timeseries.evaluationRules;
    const actions = [{ type: "webhook", webhookDestination: { uuid: webhook.id } }];
    const timeseries = { ...alert.timeseries, evaluationRules: [{ ...rule, actions }] };
    await post("alerts/update", { alert: { ...alert, timeseries } });
    await post("alerts/update", { alert: { ...alert, metadata: { name: "High errors!", id: "second" } } });
    await post("dashboards/update", { dashboard });
    await post("groups", { group: { name: "developers", oidcMappings: ["dev"] } });
    await post("groups", { group: { name: "On call", role: "editor" } });
    const match = { matchExpressions: [{ key: "path", operator: "RegexIn", values: ["^/health"] }] };
    const exclude = { action: "Exclude", match };
    await post("ingestion-rules", {
      ingestionRule: { id: "health", rules: [{ signals: ["logs"], ...exclude }] },
    });
    await post("ingestion-rules", {
      ingestionRule: { id: "metrics", rules: [{ signals: ["metrics"], ...exclude }] },
    });
    await both.startExporter();
  }, 60_000);
  afterAll(() => both.stop());

  const run = (...words: string[]) =>
    runSvc(["export-manifests", "--url", both.hub.url, "--token", both.hub.adminToken, ...words], {
      cwd: dir,
    });

  test("prints objects that a cluster takes, and that make the same resources again", async () => {
    const { out, err, code } = await run("--namespace", "shop", "--cluster", "prod");
    expect([code, err]).toEqual([0, err]);
    expect(err).toContain('left out: SvcGroup "On call": its name must be that of an object');
    expect(err).toContain('left out: SvcClusterIngestionRule "metrics": spec.rules[0].signals[0]');
    const objects = objectsOf(out);
    const names = objects.map(
      ({ kind, metadata }) => `${kind} ${metadata.namespace ?? "-"}/${metadata.name}`,
    );
    expect(names.sort()).toEqual([
      "SvcAlert shop/high-errors",
      "SvcAlert shop/high-errors-2",
      "SvcClusterIngestionRule -/health",
      "SvcDashboard shop/shop",
      "SvcGroup -/developers",
      "SvcWebhook shop/ops",
    ]);
    writeFileSync(join(dir, "all.yaml"), out);
    const checked = await runSvc(["kubernetes", "validate", "all.yaml"], { cwd: dir });
    expect([checked.code, checked.err]).toEqual([0, "6 would be taken, 0 refused\n"]);

    both.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } } as KubernetesObject);
    for (const object of objects) if (object.kind !== "SvcGroup") both.api.create(object);
    await both.until(async () => (await both.managed("alerts")).size === 2, "the alerts");
    const made = [...(await both.managed("alerts")).values()] as (typeof alert)[];
    const managedHook = "kubernetes-managed.prod.shop.ops";
    const withHook = made.find(({ metadata }) => metadata.name === "High errors")!;
    expect(JSON.stringify(withHook)).toContain(managedHook);
    const second = made.find(({ metadata }) => metadata.name === "High errors!")!;
    expect(second.timeseries).toEqual(alert.timeseries);
    expect((await both.managed("webhooks")).has(managedHook)).toBe(true);
    expect((await both.managed("dashboards")).size).toBe(1);
  });

  test("leaves out what Kubernetes manages, unless it is asked for", async () => {
    const { out } = await run("--kind", "alerts");
    expect(objectsOf(out).length).toBe(2);
    const all = objectsOf((await run("--kind", "alerts", "--managed")).out);
    expect(all.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).sort()).toEqual([
      "default/high-errors",
      "default/high-errors-2",
      "shop/high-errors",
      "shop/high-errors-2",
    ]);
    expect((await run("--kind", "alert")).err).toContain("--kind must be one of webhooks, alerts");
  });
});

describe("svc kubernetes validate", () => {
  const validate = async (text: string) => {
    writeFileSync(join(dir, "file.yaml"), text);
    return runSvc(["kubernetes", "validate", "file.yaml"], { cwd: dir });
  };
  const header = "apiVersion: observability.svc.example/v1alpha1\nkind: SvcAlert\nmetadata:\n  name: a\n";
  const good = `${header}spec:
  timeseries:
    expression:
      svcQLTimeseries:
        query: count(logs)
        bucketSize: 60
    evaluationRules:
      - name: critical
        type: static
        static:
          operators:
            - operator: greaterThan
              threshold: 10
          persistenceSettings:
            datapointsToAlarm: 2
            datapointsInEvaluationWindow: 3
`;

  test("takes every object that the page shows", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../server/kubernetes/README.md"), "utf8");
    const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text!);
    expect(examples.length).toBeGreaterThan(1);
    for (const text of examples) expect(await validate(text)).toMatchObject({ code: 0 });
  });

  test.each([
    [
      "a query",
      good.replace("count(logs)", "conut(logs"),
      9,
      "spec.timeseries.expression.svcQLTimeseries.query",
    ],
    ["a bound", good.replace("datapointsToAlarm: 2", "datapointsToAlarm: 9"), 19, "datapointsToAlarm"],
    ["a field", good.replace("threshold: 10", "treshold: 10"), 17, "treshold"],
    ["a type", good.replace("threshold: 10", "threshold: ten"), 17, "threshold must be"],
    ["a version", good.replace("v1alpha1", "v1"), 1, "apiVersion of SvcAlert must be"],
    ["a name", good.replace("name: a", "name: A_b"), 4, "metadata.name must be the name of an object"],
    ["a kind", good.replace("SvcAlert", "SvcAlart"), 1, "did you mean SvcAlert"],
    ["a text", `${good}  ]`, 20, "the file"],
  ])("names %s that is wrong, with its line", async (_, text, line, problem) => {
    const { code, out } = await validate(text);
    expect([code, out]).toEqual([1, expect.stringContaining(problem)]);
    expect(Number(/^file\.yaml:(\d+): /.exec(out)?.[1])).toSatisfy(
      (found: number) => Math.abs(found - line) <= 1,
    );
  });

  test("looks into lists and labelled ConfigMaps, and at nothing else", async () => {
    const list = { apiVersion: "v1", kind: "List", items: objectsOf(good) };
    const map = (name: string, labels: object, data: object) => ({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "shop", labels }, data },
    });
    const labels = { "svc.example/dashboard": "true" };
    const bad = { metadata: { title: "x" }, content: { widgets: [{ type: "chart" }] } };
    const objects = [
      list,
      map("boards", labels, { "good.json": JSON.stringify(dashboard), "bad.yaml": JSON.stringify(bad) }),
      map("plain", {}, { "a.yaml": ":" }),
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
    ];
    const { code, out, err } = await validate(
      objects.map((each) => `---\n${JSON.stringify(each)}\n`).join(""),
    );
    expect(code).toBe(1);
    expect(err).toBe("2 would be taken, 1 refused; 2 of other kinds were not looked at\n");
    expect(out).toMatch(/SvcAlert a: ok$/m);
    expect(out).toMatch(/ConfigMap shop\/boards, boards\.good: ok$/m);
    expect(out).toMatch(/ConfigMap shop\/boards, boards\.bad: dashboard\.content\.widgets\[0\]/m);
  });

  test("reads its input and folders, and says what it needs", async () => {
    const piped = await runSvc(["kubernetes", "validate", "-"], { cwd: dir, input: good });
    expect([piped.code, piped.out]).toEqual([0, "stdin:1: SvcAlert a: ok\n"]);
    expect((await runSvc(["kubernetes"], { cwd: dir })).err).toContain("kubernetes takes validate FILE…");
    const missing = await runSvc(["kubernetes", "validate", "nothing.yaml"], { cwd: dir });
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("nothing.yaml")]);
  });
});

test("an exported alert names webhooks as they will be called, and says in comments what it cannot say", () => {
  const [first, second] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
  const elsewhere = managedId("prod", "team-x", "hook");
  const actionOf = (uuid: string, resolvedUuid?: string) => ({
    type: "webhook" as const,
    webhookDestination: { uuid, ...(resolvedUuid === undefined ? {} : { resolvedUuid }) },
  });
  const [rule] = alert.timeseries.evaluationRules;
  const actions = [actionOf(first, second), actionOf(elsewhere)];
  const exported = exportManifests(
    {
      webhooks: [
        { id: first, displayName: "fired", url: "https://a.example/1" },
        { id: second, displayName: "solved", url: "https://a.example/2" },
        { id: elsewhere, displayName: "hook", url: "https://a.example/3" },
      ],
      alerts: [
        {
          ...{ ...alert, severity: "critical", labels: { team: "shop" }, runbook: "see\nwiki" },
          timeseries: { ...alert.timeseries, evaluationRules: [{ ...rule!, actions }] },
        } as Alert,
      ],
      ...{ dashboards: [], ingestionRules: [], groups: [], telemetryRules: [], resourceRules: [] },
    },
    { namespace: "default", cluster: "prod" },
  );
  expect(exported.leftOut).toEqual([]);
  const { text } = exported.manifests.find(({ kind }) => kind === "SvcAlert")!;
  const comments = text.split("\n").filter((line) => line.startsWith("#"));
  expect(comments).toEqual([
    '# Its severity, which a SvcAlert cannot say: "critical"',
    '# Its labels, which a SvcAlert cannot say: {"team":"shop"}',
    '# Its runbook, which a SvcAlert cannot say: "see\\nwiki"',
  ]);
  const destinations = [...text.matchAll(/(?:uuid|resolvedUuid): (\S+)/g)].map(([, id]) => id);
  expect(destinations).toEqual([
    managedId("prod", "default", "fired"),
    managedId("prod", "default", "solved"),
    elsewhere,
  ]);
});
