/** The `spec` of each custom resource (interface specification, section 2.5), made of the control plane's own schemas. */

import * as z from "zod";
import { resourceGrantShape, telemetryGrantShape } from "../../model/access-rules.ts";
import { alertShape } from "../../model/alert.ts";
import { dashboardShape } from "../../model/dashboard.ts";
import { ingestionRuleMatch } from "../../model/ingestion-rule.ts";
import { listedMax } from "../../model/limits.ts";
import { listOf, longText, nameText, openObject, strictObject } from "../../model/schema.ts";
import { headerName, secretReferenceShape, webhookShape } from "../../model/webhook.ts";

export const alertSpec = strictObject({
  /** The name of the object where it is absent. */
  displayName: nameText.optional(),
  description: longText.optional(),
  aiInvestigateOnFire: z.boolean().optional(),
  timeseries: alertShape.shape.timeseries,
});

export const dashboardSpec = strictObject({
  /** The name of the object where it is absent. */
  title: nameText.optional(),
  settings: dashboardShape.shape.settings,
  content: dashboardShape.shape.content.unwrap().optional(),
});

const { url, displayName, method, headers, body } = webhookShape.shape;

export const webhookSpec = strictObject({
  url,
  displayName,
  method,
  headers,
  headersFrom: z.record(headerName, secretReferenceShape).optional(),
  body,
  bodyFrom: secretReferenceShape.optional(),
});

export const ingestionRuleSpec = strictObject({
  rules: listOf(
    strictObject({
      signals: z
        .array(z.enum(["logs", "traces"]))
        .min(1)
        .max(2),
      action: z.literal("Exclude"),
      match: ingestionRuleMatch.optional(),
    }),
  ),
});

export const groupSpec = strictObject({
  oidcMappings: z.array(nameText).max(listedMax).optional(),
});

const groups = z.array(nameText).max(listedMax);

export const telemetryRuleSpec = strictObject({ groups, rules: listOf(telemetryGrantShape) });

export const namespaceResourceRuleSpec = strictObject({
  groups,
  rules: listOf(strictObject(resourceGrantShape)),
});

export const clusterResourceRuleSpec = strictObject({
  groups,
  rules: listOf(
    strictObject({
      ...resourceGrantShape,
      /** Narrows the grant to a folder below the cluster's, such as `/shop/`. */
      path: z.string().max(1_000).startsWith("/").optional(),
    }),
  ),
});

/** The members of `metadata` that the hub uses. */
export const objectMetadata = openObject({
  name: z
    .string()
    .max(253)
    .regex(
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      "must be the name of an object",
    ),
  /** Absent for objects without a namespace. */
  namespace: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be the name of a namespace")
    .optional(),
  uid: z.string().min(1).max(128),
  generation: z.int().min(0).optional(),
});
