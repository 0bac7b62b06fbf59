/** Alerts (interface specification, section 2.1): their schema, and the checks that a schema cannot express. */

import * as z from "zod";
import { planTimeseries, QueryError, reachOf, type Scan, type SeriesPlan } from "../../query/index.ts";
import { makeFieldRefusal, Refusal } from "../throttle/refusal.ts";
import {
  bucketSecondsMax,
  datapointsMax,
  evaluationDelaySecondsMax,
  listedMax,
  repeatSecondsMax,
  repeatSecondsMin,
  unhealthyAfterSecondsMax,
} from "./limits.ts";
import { refuseQuery } from "./query-refusal.ts";
import { isManaged, sentId } from "./resource-id.ts";
import { integer, longText, nameText, openObject, positive, strictObject } from "./schema.ts";

const slack = strictObject({
  type: z.literal("slack"),
  slackDestination: strictObject({ channel: nameText, notifyOnResolve: z.boolean().optional() }),
});

const address = z
  .string()
  .max(320)
  .regex(/^[^\s@,;<>]+@[^\s@,;<>]+$/, "must be an e-mail address");

const email = strictObject({
  type: z.literal("email"),
  emailDestination: strictObject({
    emails: z.array(address).min(1).max(listedMax),
    notifyOnResolve: z.boolean().optional(),
  }),
});

/** The specification leaves its fields open: unknown ones are stored as they were sent. */
const pagerDuty = strictObject({
  type: z.literal("pagerDuty"),
  pagerDutyDestination: openObject({
    routingKey: z.string().optional(),
    serviceId: z.string().optional(),
    serviceName: z.string().optional(),
    /** One incident for all instances of a rule: it opens with the first and resolves with the last. */
    groupInstances: z.boolean().optional(),
  }),
});

const webhook = strictObject({
  type: z.literal("webhook"),
  webhookDestination: strictObject({
    uuid: sentId,
    resolvedUuid: sentId.optional(),
    notifyOnResolve: z.boolean().optional(),
  }),
});

export const operators = [
  "greaterThan",
  "greaterThanOrEqual",
  "lessThan",
  "lessThanOrEqual",
  "equals",
  "notEquals",
] as const;

const datapoints = positive.max(datapointsMax);

export const actionShape = z.discriminatedUnion("type", [slack, email, pagerDuty, webhook]);

/** Seconds between messages about a fire that goes on. */
export const repeatSecondsShape = positive.min(repeatSecondsMin).max(repeatSecondsMax);

/** A destination that a rule notifies. */
export type Action = z.infer<typeof actionShape>;

const missingDatapointBehaviors = ["notBreaching", "breaching", "ignore", "missing"] as const;
export type MissingDatapointBehavior = (typeof missingDatapointBehaviors)[number];

const staticRule = strictObject({
  /** A point breaches where all of them hold. */
  operators: z
    .array(strictObject({ operator: z.enum(operators), threshold: z.number() }))
    .min(1)
    .max(listedMax),
  persistenceSettings: strictObject({
    datapointsToAlarm: datapoints,
    datapointsInEvaluationWindow: datapoints,
    /** `notBreaching` where absent. */
    missingDatapointBehavior: z.enum(missingDatapointBehaviors).optional(),
  }),
});

export type StaticRule = z.infer<typeof staticRule>;
export type Operator = (typeof operators)[number];

/** How bad a fire is, the worst first. The words are PagerDuty's. */
export const severities = ["critical", "error", "warning", "info"] as const;
const severity = z.enum(severities);

const rule = strictObject({
  /** Identifies the rule within the alert, and is unique there. */
  name: nameText,
  type: z.literal("static").optional(),
  /** In the place of the alert's. */
  severity: severity.optional(),
  static: staticRule,
  actions: z.array(actionShape).max(listedMax).optional(),
  /** Sends the messages again so often while the fire goes on. */
  repeatSeconds: repeatSecondsShape.optional(),
});

export type EvaluationRule = z.infer<typeof rule>;

const alertTimeseries = strictObject({
  /** `bucketSize` is in seconds. */
  expression: strictObject({
    svcQLTimeseries: strictObject({ query: longText, bucketSize: positive.max(bucketSecondsMax) }),
  }),
  evaluationRules: z.array(rule).min(1).max(listedMax),
  /** How long an evaluation waits for the rows of a bucket. Absent: as long as the server does for the signal. */
  evaluationDelaySeconds: integer.min(0).max(evaluationDelaySecondsMax).optional(),
});

const alertLabels = z
  .record(nameText, nameText)
  .refine((labels) => Object.keys(labels).length <= listedMax, `must have at most ${listedMax} labels`);

export const alertShape = strictObject({
  metadata: strictObject({ name: nameText, description: longText.optional(), id: sentId.optional() }),
  type: z.literal("timeseries").optional(),
  investigateOnFire: z.boolean().optional(),
  /** How long it may not be judged before its destinations are told; ten minutes where absent. */
  unhealthyAfterSeconds: integer.min(0).max(unhealthyAfterSecondsMax).optional(),
  severity: severity.optional(),
  /** Say whose the alert is, such as `team`. Messages show them. */
  labels: alertLabels.optional(),
  /** The address of what to do when it fires, or what to do. */
  runbook: longText.optional(),
  /** What messages say in the place of the description. The variables of webhooks are replaced in it. */
  messageTemplate: longText.optional(),
  timeseries: alertTimeseries,
}).meta({ id: "Alert" });

export type Alert = z.infer<typeof alertShape>;

/** An alert that is not saved yet: it needs no name. */
export const alertDraftShape = strictObject({
  ...alertShape.shape,
  metadata: strictObject({
    name: longText.optional(),
    description: longText.optional(),
    id: sentId.optional(),
  }).optional(),
}).meta({ id: "AlertDraft" });

/** Checks what the schema cannot express. Throws Refusal 400 naming the field below `path`; returns warnings. */
export function checkAlert(alert: Alert, path: string, isWebhook: (id: string) => boolean): string[] {
  const { expression, evaluationRules } = alert.timeseries;
  const at = `${path}.timeseries`;
  const names = new Set<string>();
  for (const [i, rule] of evaluationRules.entries()) {
    const { name } = rule;
    const where = `${at}.evaluationRules[${i}]`;
    if (names.has(name)) {
      throw makeFieldRefusal(
        `${where}.name`,
        `must be unique within the alert: ${JSON.stringify(name)} comes twice`,
      );
    }
    names.add(name);
    const { datapointsToAlarm, datapointsInEvaluationWindow } = rule.static.persistenceSettings;
    if (datapointsToAlarm > datapointsInEvaluationWindow) {
      const settings = `${where}.static.persistenceSettings`;
      throw makeFieldRefusal(
        `${settings}.datapointsToAlarm`,
        `must not be more than datapointsInEvaluationWindow, ` +
          `got ${datapointsToAlarm} and ${datapointsInEvaluationWindow}`,
      );
    }
  }
  const { query } = expression.svcQLTimeseries;
  const warnings = checkAlertQuery(query, `${at}.expression.svcQLTimeseries.query`);
  return [...warnings, ...checkWebhooks(webhooksOf(alert), at, isWebhook)];
}

/** The ids of the webhooks that an alert names, and the path of each. */
export function webhooksOf(alert: Alert): NamedWebhook[] {
  const rules = alert.timeseries.evaluationRules;
  return rules.flatMap(({ actions = [] }, i) => webhooksOfActions(actions, `evaluationRules[${i}].actions`));
}

/** A webhook that an action names, and where. */
interface NamedWebhook {
  id: string;
  where: string;
}

/** The ids of the webhooks that actions name, and the path of each below `path`. */
export function webhooksOfActions(actions: readonly Action[], path: string): NamedWebhook[] {
  return actions.flatMap((action, i) => {
    if (action.type !== "webhook") return [];
    const { uuid, resolvedUuid } = action.webhookDestination;
    const where = `${path}[${i}].webhookDestination`;
    const resolved = resolvedUuid === undefined ? [] : [{ id: resolvedUuid, where: `${where}.resolvedUuid` }];
    return [{ id: uuid, where: `${where}.uuid` }, ...resolved];
  });
}

/** An unknown managed webhook is a warning, since it may arrive after the alert; any other is refused. */
export function checkWebhooks(
  named: readonly NamedWebhook[],
  path: string,
  isWebhook: (id: string) => boolean,
): string[] {
  const warnings: string[] = [];
  for (const { id, where } of named) {
    if (isWebhook(id)) continue;
    const problem = `${path}.${where} names the webhook ${JSON.stringify(id)}, which does not exist`;
    if (!isManaged(id)) throw new Refusal(400, problem);
    warnings.push(`${problem} yet`);
  }
  return warnings;
}

function checkAlertQuery(query: string, path: string): string[] {
  return refuseQuery(path, () => {
    const { series, scans, warnings } = planTimeseries(query);
    if (series.kind === "calculation" && comparisons.has(series.op)) {
      throw new QueryError(
        "an alert's query does not compare at its top: its rules do, with operator and threshold",
        { text: query, span: series.at },
      );
    }
    const ranked = rankingIn(series);
    if (ranked !== undefined) {
      throw new QueryError(`${ranked} ranks over a whole range of time, which an alert does not have`);
    }
    const unreachable = scans.map(findUnreachable).find((problem) => problem !== undefined);
    if (unreachable !== undefined) throw new QueryError(unreachable);
    return warnings;
  });
}

/** Why a bucket cannot be judged when it is over: rows that count in it look at rows before or after any bound. */
function findUnreachable(scan: Scan): string | undefined {
  if (scan.kind !== "rows") return undefined;
  const { back, ahead } = reachOf(scan.steps);
  if (!Number.isFinite(back) || !Number.isFinite(ahead)) {
    return "a stage over several rows says how far apart they may be, as in `by (pod) within 5m`: an alert has no range of time";
  }
  const aheadSeconds = ahead / 1e9;
  if (aheadSeconds <= (scan.offsetSeconds ?? 0)) return undefined;
  return `the rows look up to ${aheadSeconds} s ahead, which an alert waits for with an offset: \`offset ${Math.ceil(aheadSeconds)}s\` after the stages`;
}

const comparisons: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);

/** The topk or bottomk of a plan. */
function rankingIn(plan: SeriesPlan): string | undefined {
  switch (plan.kind) {
    case "top":
      return plan.op;
    case "calculation":
      return [plan.left, plan.right]
        .map((side) => (side.kind === "number" ? undefined : rankingIn(side)))
        .find((op) => op !== undefined);
    case "fold":
    case "histogramQuantile":
    case "negation":
    case "map":
    case "relabel":
    case "sort":
    case "absent":
      return rankingIn(plan.of);
    case "scan":
    case "window":
      return undefined;
  }
}
