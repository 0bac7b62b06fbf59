/** The charts: their files are up to date, what they render to is right, and no right is granted that is not used. */

import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { commands } from "../../../server/command/commands.ts";
import { exporter as exporterCommand } from "../../../server/command/exporter.ts";
import { toEnvironmentName } from "../../../server/command/flags/flag.ts";
import { readArguments } from "../../../server/command/flags/settings.ts";
import { parseSize } from "../../../server/command/flags/units.ts";
import { serve } from "../../../server/command/serve.ts";
import {
  type ChartManifest,
  type ChartName,
  manifestsOf,
  renderChart,
} from "../../../server/kubernetes/charts/chart.ts";
import { chartFiles } from "../../../server/kubernetes/charts/chart-files.ts";
import type { Attempt } from "../api-server/access.ts";
import { findReasonToSkip, runKubectl } from "../api-server/kubectl.ts";
import type { KubernetesObject } from "../api-server/objects.ts";
import { ClusterAndHub, makeAlert } from "../exporter/cluster-and-hub.ts";

const charts = join(import.meta.dirname, "../../../server/kubernetes/charts");
const release = { name: "svc", namespace: "observability" };
const given = { hub: { url: "https://svc.example.com" }, token: { existingSecret: "token" } };

function render(chart: ChartName, values: object = {}): ChartManifest[] {
  const whole = chart === "exporter" ? { ...given, ...values } : values;
  return manifestsOf(renderChart(chart, { ...release, values: whole }));
}

const of = (manifests: readonly ChartManifest[], kind: string, name?: string) =>
  manifests.filter((each) => each.kind === kind && (name === undefined || each.metadata.name === name));

interface PodTemplate {
  spec: { template: { spec: PodSpec } };
}
interface PodSpec {
  enableServiceLinks: boolean;
  serviceAccountName: string;
  securityContext: { runAsNonRoot?: boolean; runAsUser: number; seccompProfile: { type: string } };
  containers: {
    image: string;
    args: string[];
    securityContext: {
      readOnlyRootFilesystem: boolean;
      allowPrivilegeEscalation: boolean;
      capabilities: object;
    };
    livenessProbe: object;
    readinessProbe: object;
    resources: { requests: object; limits: object };
  }[];
}
const podOf = (manifests: readonly ChartManifest[], kind: string) =>
  (of(manifests, kind)[0] as unknown as PodTemplate).spec.template.spec;

test("the files that are made of the sources are up to date (else run `npm run charts`)", () => {
  const stale = [...chartFiles()].filter(([path, text]) => {
    try {
      return readFileSync(join(charts, path), "utf8") !== text;
    } catch {
      return true;
    }
  });
  expect(stale.map(([path]) => path)).toEqual([]);
});

describe.each(["exporter", "hub"] as const)("the chart %s", (chart) => {
  const schema = JSON.parse(readFileSync(join(charts, chart, "values.schema.json"), "utf8")) as object;
  const values = parse(readFileSync(join(charts, chart, "values.yaml"), "utf8")) as Record<string, unknown>;
  const validate = new Ajv({ allErrors: true }).compile(schema);

  test("has a schema that takes its own values and no misspelt ones", () => {
    expect([validate(values), validate.errors]).toEqual([true, null]);
    for (const wrong of [
      { ...values, resource: {} },
      { ...values, crds: { install: "yes", brandCategory: true } },
    ])
      expect(validate(wrong)).toBe(false);
  });

  test("has the version that the specification names", () => {
    const { version, kubeVersion } = parse(readFileSync(join(charts, chart, "Chart.yaml"), "utf8")) as Record<
      string,
      string
    >;
    expect([version, kubeVersion]).toEqual([chart === "hub" ? "11.0.0" : "0.477.0", ">=1.29.0-0"]);
  });

  test("keeps its CRDs when it is removed, and can leave out the category that hides Services", () => {
    const categories = (crds: ChartManifest[]) =>
      crds.map(({ spec }) => (spec as { names: { categories: string[] } }).names.categories);
    const crds = of(render(chart), "CustomResourceDefinition");
    expect(crds.length).toBe(chart === "hub" ? 1 : 8);
    for (const { metadata } of crds as unknown as { metadata: { annotations: Record<string, string> } }[])
      expect(metadata.annotations["helm.sh/resource-policy"]).toBe("keep");
    for (const names of categories(crds)) expect(names).toContain("svc");
    const without = of(render(chart, { crds: { brandCategory: false } }), "CustomResourceDefinition");
    for (const names of categories(without)) expect(names).not.toContain("svc");
    expect(of(render(chart, { crds: { install: false } }), "CustomResourceDefinition")).toEqual([]);
    const notes = (brandCategory: boolean) =>
      renderChart(chart, { ...release, values: { ...given, crds: { brandCategory } } }).get("NOTES.txt");
    expect(notes(true)).toContain("`kubectl get svc` lists");
    expect(notes(false)).not.toContain("`kubectl get svc` lists");
  });

  test("runs pods that may do little", () => {
    const manifests = render(chart);
    for (const kind of chart === "hub" ? ["StatefulSet"] : ["Deployment", "DaemonSet"]) {
      const { securityContext, containers, enableServiceLinks } = podOf(manifests, kind);
      // Log files of a node belong to root.
      expect(securityContext.runAsUser).toBe(kind === "DaemonSet" ? 0 : 10_001);
      expect(securityContext.runAsNonRoot).toBe(kind === "DaemonSet" ? undefined : true);
      // A Service called svc-hub would give a variable SVC_HUB_PORT, which would be taken for a setting.
      expect(enableServiceLinks).toBe(false);
      expect(securityContext.seccompProfile).toEqual({ type: "RuntimeDefault" });
      for (const each of containers) {
        expect(each.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        });
        expect(each).toMatchObject({
          livenessProbe: {},
          readinessProbe: {},
          resources: { requests: {}, limits: {} },
        });
      }
    }
    expect(of(manifests, "NetworkPolicy").length).toBe(1);
    expect(of(manifests, "PodDisruptionBudget").length).toBe(1);
  });
});

test("flags are those of the commands", () => {
  const everything = {
    secretRefs: { enabled: true },
    configMaps: { namespaces: ["a", "b"] },
    node: { kubelet: { insecure: true } },
  };
  const manifests = render("exporter", everything);
  const hub = render("hub", { publicUrl: "https://p", retention: { age: "30d", bytes: "1GiB" } });
  for (const [from, kind, command] of [
    [manifests, "Deployment", exporterCommand],
    [manifests, "DaemonSet", exporterCommand],
    [hub, "StatefulSet", serve],
  ] as const) {
    const [name, ...words] = podOf(from, kind).containers[0]!.args;
    expect(name).toBe(command.name);
    const { flags, operands } = readArguments(command.flags, words);
    expect(operands).toEqual([]);
    for (const [flag, { texts }] of flags) {
      // The kubelet's address holds a variable that Kubernetes replaces.
      const real = texts.map((text) => text.replace("$(HOST_IP)", "10.0.0.7"));
      expect(() => command.flags[flag as keyof typeof command.flags].parse(real)).not.toThrow();
    }
  }
});

test("what is missing is said", () => {
  expect(() => render("exporter", { hub: { url: "" } })).toThrow("hub.url is required");
  expect(() => render("exporter", { token: {} })).toThrow("token.existingSecret or token.value is required");
  expect(of(render("exporter", { token: { value: "svc_1" } }), "Secret")).toMatchObject([
    { stringData: { token: "svc_1" } },
  ]);
});

test("the hub keeps as much as fits on its volume", () => {
  const argsOf = (values: object) => podOf(render("hub", values), "StatefulSet").containers[0]!.args;
  const retention = (values: object) =>
    argsOf(values)
      .find((word) => word.startsWith("--retention-bytes="))
      ?.split("=")[1];
  const bytesOf = (values: object) => parseSize(retention(values)!);
  expect(bytesOf({})).toBe(45 * 2 ** 30);
  for (const [size, bytes] of [
    ["500Gi", 450 * 2 ** 30],
    ["1.5Ti", 1.35 * 2 ** 40],
    ["64Mi", 57.6 * 2 ** 20],
    ["2Pi", 1.8 * 2 ** 50],
    ["1Ei", 0.9 * 2 ** 60],
    ["500G", 450e9],
    ["2000k", 1_800_000],
    ["53687091200", 48_318_382_080],
  ] as const)
    expect([size, bytesOf({ persistence: { size } })]).toEqual([size, Math.round(bytes)]);
  expect(retention({ persistence: { size: "500Gi" }, retention: { bytes: "100GiB" } })).toBe("100GiB");
  expect(retention({ config: { "retention-bytes": "1GiB" } })).toBeUndefined();
});

test("a hub that never got ready can be replaced", () => {
  expect(of(render("hub"), "StatefulSet")[0]!.spec).toMatchObject({ podManagementPolicy: "Parallel" });
});

test("settings that are secrets are refused where everybody could read them", () => {
  const secret = commands.flatMap(({ flags }) =>
    Object.keys(flags).filter((name) => flags[name]!.isSecret === true),
  );
  expect(secret).toContain("slack-token");
  for (const name of secret)
    expect(() => render("hub", { config: { [name]: "s3cret" } })).toThrow(
      `config.${name} would stand in a ConfigMap that many may read: put it into a Secret as ${toEnvironmentName(name)}`,
    );
  expect(() => render("hub", { config: { "notify-allow": ["10.0.0.0/8"] } })).not.toThrow();
});

describe("names", () => {
  test("that pods, rights and accounts have go together, also where no account is created", () => {
    for (const chart of ["hub", "exporter"] as const)
      for (const serviceAccount of [{}, { name: "own" }, { create: false }, { create: false, name: "own" }]) {
        const manifests = render(chart, { serviceAccount });
        const used = [
          ...of(manifests, "StatefulSet"),
          ...of(manifests, "Deployment"),
          ...of(manifests, "DaemonSet"),
        ].map((each) => (each as unknown as PodTemplate).spec.template.spec.serviceAccountName);
        const { create = true, name } = serviceAccount as { create?: boolean; name?: string };
        const base = name ?? (create ? "svc" : "default");
        const ofNode = base === "default" ? base : `${base}-node`;
        expect(used).toEqual(chart === "hub" ? [base] : [base, ofNode]);
        const made = of(manifests, "ServiceAccount").map(({ metadata }) => metadata.name);
        expect(made).toEqual(create ? used : []);
        const bound = of(manifests, "ClusterRoleBinding").flatMap(({ subjects }) =>
          (subjects as { name: string }[]).map((subject) => subject.name),
        );
        expect(bound).toEqual(used);
      }
  });

  test("outside of the release's namespace are those of no other release", () => {
    const values = {
      ...given,
      configMaps: { namespaces: ["shop"] },
      secretRefs: { enabled: true, namespaces: ["shop"] },
    };
    const outside = (chart: ChartName, namespace: string) =>
      manifestsOf(renderChart(chart, { name: "svc", namespace, values: chart === "hub" ? {} : values }))
        .filter(
          ({ kind, metadata }) => kind !== "CustomResourceDefinition" && metadata.namespace !== namespace,
        )
        .map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    const names = [...outside("exporter", "a"), ...outside("exporter", "b"), ...outside("hub", "c")];
    expect(names.length).toBe(18);
    expect(new Set(names).size).toBe(names.length);
  });
});

const reason = findReasonToSkip();
describe.skipIf(reason !== undefined)(
  `the manifests without Helm${reason === undefined ? "" : `: ${reason}`}`,
  () => {
    test.each([
      ["crds", 9],
      ["exporter", 12],
      ["hub", 9],
    ])("kubectl kustomize renders %s", async (folder, kinds) => {
      const { out } = await runKubectl(tmpdir(), ["kustomize", join(charts, "manifests", folder)]);
      expect(out.match(/^kind: /gm)!.length).toBe(kinds);
      expect(out).not.toContain("helm.sh");
    });
  },
);

describe("rights", () => {
  interface Rule {
    apiGroups: string[];
    resources: string[];
    verbs: string[];
  }
  const attempts: Attempt[] = [];
  const rights: { rule: Rule; namespace: string }[] = [];
  let both: ClusterAndHub;

  const allows = ({ rule, namespace }: { rule: Rule; namespace: string }, attempt: Attempt) => {
    const { group, resource, subresource, verb } = attempt;
    const path = subresource === undefined ? resource : `${resource}/${subresource}`;
    const isThere = namespace === "" || namespace === attempt.namespace;
    return (
      isThere && rule.apiGroups.includes(group) && rule.resources.includes(path) && rule.verbs.includes(verb)
    );
  };

  beforeAll(async () => {
    const values = { secretRefs: { enabled: true, namespaces: ["default"] }, node: { enabled: false } };
    for (const { kind, metadata, rules } of render("exporter", values) as (ChartManifest & {
      rules: Rule[];
    })[]) {
      if (kind !== "Role" && kind !== "ClusterRole") continue;
      for (const rule of rules) rights.push({ rule, namespace: kind === "Role" ? metadata.namespace! : "" });
    }
    both = await ClusterAndHub.start();
    both.api.access.allow = (attempt) => {
      attempts.push(attempt);
      return rights.some((right) => allows(right, attempt));
    };
    await both.startExporter({ readsSecrets: true });
  }, 60_000);
  afterAll(() => both.stop());

  test("suffice for all that the exporter does, and none is idle", async () => {
    both.api.create(makeAlert("errors"));
    both.api.create(makeAlert("wrong", { query: "conut(logs" }));
    const secret = { data: { token: btoa("s3cret") }, metadata: { name: "pager", namespace: "default" } };
    both.api.create({ apiVersion: "v1", kind: "Secret", ...secret } as unknown as KubernetesObject);
    const key = { name: "pager", key: "token" };
    both.api.create({
      ...makeAlert("pager"),
      kind: "SvcWebhook",
      spec: { url: "https://example.com/", headersFrom: { Authorization: { secretKeyRef: key } } },
    });
    await both.until(() => both.ready("SvcWebhook", "pager"), "a status");
    await both.until(() => both.ready("SvcAlert", "wrong"), "a status");
    await both.until(() => both.exporter!.isSettled, "everything");
    expect(await both.exporter!.secrets.read({ id: "", namespace: "default", ...key })).toBe("s3cret");
    await both.until(() => both.api.list("v1", "Event").length > 0, "an Event");

    const refused = attempts.filter((attempt) => !rights.some((right) => allows(right, attempt)));
    expect(refused).toEqual([]);
    const idle = rights.flatMap(({ rule, namespace }) =>
      rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((resource) =>
          rule.verbs
            .filter((verb) => {
              const alone = { namespace, rule: { apiGroups: [group], resources: [resource], verbs: [verb] } };
              return !attempts.some((attempt) => allows(alone, attempt));
            })
            .map((verb) => `${verb} ${resource}`),
        ),
      ),
    );
    // Objects of these kinds there are none of, so no status of them is written.
    expect(idle.filter((right) => !/^patch svc\w+\/status$/.test(right))).toEqual([]);
    const strange = attempts.filter(
      ({ namespace, resource }) => resource === "secrets" && namespace !== "default",
    );
    expect(strange).toEqual([]);
  });
});
