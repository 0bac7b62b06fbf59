/** The CRDs: what the specification lists, bounds everywhere, and the same verdict as the HTTP schemas. */
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { crdManifests } from "../../../server/kubernetes/resources/crd-manifests.ts";
import { customKinds } from "../../../server/kubernetes/resources/custom-kinds.ts";
import { alert, dashboard, webhook } from "../../server/control/samples.ts";

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
  enum?: unknown[];
  [keyword: string]: unknown;
}

interface Crd {
  metadata: { name: string };
  spec: {
    group: string;
    scope: string;
    names: { kind: string; plural: string; shortNames: string[]; categories: string[] };
    versions: {
      name: string;
      additionalPrinterColumns: { name: string; priority?: number }[];
      schema: { openAPIV3Schema: Schema };
    }[];
  };
}

const files = crdManifests();
const crds = [...files]
  .filter(([path]) => path.startsWith("manifests/"))
  .map(([, text]) => parse(text) as Crd);
const schemaOf = (kind: string) =>
  crds.find(({ spec }) => spec.names.kind === kind)!.spec.versions[0]!.schema.openAPIV3Schema;

test("groups, scopes, short names and categories are those of the specification", () => {
  const listed = crds.map(({ spec: { group, scope, names } }) => [
    ...[names.kind, group, scope, names.shortNames.join(" "), names.categories.join(" ")],
  ]);
  const [observability, rbac] = ["observability.svc.example", "rbac.svc.example"];
  expect(listed).toEqual([
    ["SvcAlert", observability, "Namespaced", "ma malert", "svc svc-observability"],
    ["SvcDashboard", observability, "Namespaced", "md mdashboard", "svc svc-observability"],
    ["SvcWebhook", observability, "Namespaced", "mw mwebhook", "svc svc-observability"],
    ["SvcClusterIngestionRule", observability, "Cluster", "mcingrule", "svc svc-observability"],
    ["SvcGroup", rbac, "Cluster", "mgroup", "svc svc-rbac"],
    ["SvcNamespaceTelemetryRule", rbac, "Namespaced", "mntelrule", "svc svc-rbac"],
    ["SvcClusterTelemetryRule", rbac, "Cluster", "mctelrule", "svc svc-rbac"],
    ["SvcNamespaceResourceRule", rbac, "Namespaced", "mnresrule", "svc svc-rbac"],
    ["SvcClusterResourceRule", rbac, "Cluster", "mcresrule", "svc svc-rbac"],
  ]);
});

test("the exporter's chart has every kind but the group, the hub's chart the group", () => {
  const kindsOf = (path: string) =>
    [...files.get(path)!.matchAll(/^ {4}kind: (\w+)$/gm)].map(([, kind]) => kind);
  expect(kindsOf("hub/templates/crds.yaml")).toEqual(["SvcGroup"]);
  const others = customKinds.map(({ kind }) => kind).filter((kind) => kind !== "SvcGroup");
  expect(kindsOf("exporter/templates/crds.yaml")).toEqual(others);
  expect(files.get("exporter/templates/crds.yaml")!.match(/helm\.sh\/resource-policy: keep/g)).toHaveLength(
    8,
  );
});

test.each(customKinds.map(({ kind }) => kind))(
  "%s is structural, and every list, map and text is bounded",
  (kind) => {
    const problems: string[] = [];
    const visit = (schema: Schema, path: string) => {
      const at = (problem: string) => problems.push(`${path}: ${problem}`);
      if (schema.type === undefined) at("no type");
      for (const keyword of ["$ref", "oneOf", "anyOf", "allOf", "not", "const"])
        if (keyword in schema) at(keyword);
      if (schema.properties !== undefined && schema.additionalProperties !== undefined)
        at("properties of both kinds");
      if (schema.type === "array" && schema.maxItems === undefined) at("no maxItems");
      if (typeof schema.additionalProperties === "object" && schema.maxProperties === undefined)
        at("no maxProperties");
      const isFree = schema.enum !== undefined || schema.format !== undefined;
      if (schema.type === "string" && schema.maxLength === undefined && !isFree) at("no maxLength");
      for (const [name, each] of Object.entries(schema.properties ?? {})) visit(each, `${path}.${name}`);
      if (schema.items !== undefined) visit(schema.items, `${path}[]`);
      if (typeof schema.additionalProperties === "object") visit(schema.additionalProperties, `${path}{}`);
    };
    const { spec, status } = schemaOf(kind).properties!;
    visit(spec!, "spec");
    visit(status!, "status");
    expect(problems).toEqual([]);
  },
);

describe("the samples of the HTTP API fit", () => {
  const ajv = new Ajv({ strict: false, formats: { int64: true, "date-time": true } });
  const { id: _, secret: __, ...webhookSpec } = webhook;
  test.each([
    [
      "SvcAlert",
      { displayName: "x", description: "y", aiInvestigateOnFire: true, timeseries: alert.timeseries },
    ],
    ["SvcDashboard", { title: "x", settings: dashboard.settings, content: dashboard.content }],
    ["SvcWebhook", webhookSpec],
  ])("%s", (kind, spec) => {
    const validate = ajv.compile(schemaOf(kind).properties!.spec!);
    validate(spec);
    expect(validate.errors ?? []).toEqual([]);
  });

  test("and what they refuse is refused here", () => {
    const validate = ajv.compile(schemaOf("SvcAlert").properties!.spec!);
    const bad = structuredClone(alert.timeseries) as { evaluationRules: { type: string }[] };
    bad.evaluationRules[0]!.type = "dynamic";
    expect(validate({ timeseries: bad })).toBe(false);
    expect(validate({})).toBe(false);
  });
});
