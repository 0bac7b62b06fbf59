/** The schema of each kind's `spec`, and what its CRD says beside that. */

import type * as z from "zod";
import type { KindName } from "./custom-kinds.ts";
import {
  alertSpec,
  clusterResourceRuleSpec,
  dashboardSpec,
  groupSpec,
  ingestionRuleSpec,
  namespaceResourceRuleSpec,
  telemetryRuleSpec,
  webhookSpec,
} from "./specs.ts";

/** A rule in CEL that a schema cannot express. */
export interface CelRule {
  rule: string;
  message: string;
}

/** What a CRD says of one field, beside its schema. Fields are named from `spec`: `rules[].signals`. */
export interface FieldExtension {
  field: string;
  /** Lists whose items do not repeat; or whose items have different values of a member. */
  list?: "set" | { key: string };
  rules?: readonly CelRule[];
}

/** What the CRD of a kind says of `spec`. */
export interface KindSchema {
  spec: z.ZodType;
  extensions: readonly FieldExtension[];
}

const grantLists: readonly FieldExtension[] = [
  { field: "groups", list: "set" },
  { field: "rules[].signals", list: "set" },
  { field: "rules[].resources", list: "set" },
  { field: "rules[].verbs", list: "set" },
];

export const kindSchemas: Readonly<Record<KindName, KindSchema>> = {
  SvcAlert: {
    spec: alertSpec,
    extensions: [
      { field: "timeseries.evaluationRules", list: { key: "name" } },
      {
        field: "timeseries.evaluationRules[].static.persistenceSettings",
        rules: [
          {
            rule: "self.datapointsToAlarm <= self.datapointsInEvaluationWindow",
            message: "datapointsToAlarm must not be more than datapointsInEvaluationWindow",
          },
        ],
      },
    ],
  },
  SvcDashboard: { spec: dashboardSpec, extensions: [{ field: "content.variables", list: { key: "name" } }] },
  SvcWebhook: {
    spec: webhookSpec,
    extensions: [
      {
        field: "",
        rules: [
          {
            rule: "!(has(self.body) && size(self.body) > 0 && has(self.bodyFrom))",
            message: "body and bodyFrom exclude each other",
          },
          {
            rule: "!has(self.headers) || !has(self.headersFrom) || self.headers.all(name, !(name in self.headersFrom))",
            message: "headers and headersFrom must not name the same header",
          },
        ],
      },
      {
        field: "headers",
        rules: [
          {
            rule: "self.all(name, name.matches('^[A-Za-z0-9!#$%&\\'*+.^_`|~-]+$'))",
            message: "the keys must be names of headers",
          },
        ],
      },
      {
        field: "headersFrom",
        rules: [
          {
            rule: "self.all(name, name.matches('^[A-Za-z0-9!#$%&\\'*+.^_`|~-]+$'))",
            message: "the keys must be names of headers",
          },
        ],
      },
    ],
  },
  SvcClusterIngestionRule: {
    spec: ingestionRuleSpec,
    extensions: [{ field: "rules[].signals", list: "set" }],
  },
  SvcGroup: { spec: groupSpec, extensions: [{ field: "oidcMappings", list: "set" }] },
  SvcNamespaceTelemetryRule: { spec: telemetryRuleSpec, extensions: grantLists },
  SvcClusterTelemetryRule: { spec: telemetryRuleSpec, extensions: grantLists },
  SvcNamespaceResourceRule: { spec: namespaceResourceRuleSpec, extensions: grantLists },
  SvcClusterResourceRule: {
    spec: clusterResourceRuleSpec,
    extensions: [
      ...grantLists,
      {
        field: "rules[].path",
        rules: [{ rule: "self.startsWith('/')", message: "path must begin with /" }],
      },
    ],
  },
};
