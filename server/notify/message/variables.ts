/** The variables that people may write into webhooks and messages of alerts, and their values for an event. */

import type { NotificationEvent } from "../../model/event.ts";
import { thresholdText } from "./condition-text.ts";
import { deepLink, eventMessage } from "./event-text.ts";
import { rulesOf, time } from "./event-types.ts";

export type VariableValue = string | number | Readonly<Record<string, string>>;

/** The values by name. Outside strings of a JSON body, each is written as a JSON value of its type. */
export type Variables = ReadonlyMap<string, VariableValue>;

export function variablesOf(event: NotificationEvent, publicUrl: string): Variables {
  const { labels } = event;
  const { condition } = event;
  return new Map<string, VariableValue>([
    ["alert_name", event.alertName],
    ["alert_description", event.alertDescription],
    ["alert_uuid", event.alertId],
    ["alert_fire_uuid", event.fireId],
    ["alert_state", rulesOf(event.type).state],
    ["alert_message", eventMessage(event)],
    ["deep_link", deepLink(event, publicUrl)],
    ["environment", labels.environment ?? labels["k8s.cluster.name"] ?? ""],
    ["service", labels["service.name"] ?? ""],
    ["attributes", labels],
    ["fired_at", time(event.firedAtMs)],
    ["resolved_at", resolvedAt(event)],
    ["breaching_datapoint_value", event.breached.value ?? ""],
    ["breaching_datapoint_time", time(event.breached.bucketMs)],
    ["metric_name", metricName(event.query)],
    ["rule_name", event.rule],
    ["query", event.query],
    ["bucket_size", event.bucketSeconds],
    ["threshold", condition === undefined ? "" : thresholdText(condition)],
    ["datapoints_to_alarm", condition?.datapointsToAlarm ?? ""],
    ["datapoints_in_evaluation_window", condition?.datapointsInEvaluationWindow ?? ""],
    ["firing_instances", event.firingInstances ?? ""],
    ["severity", event.severity ?? ""],
    ["runbook", event.runbook ?? ""],
    ["alert_labels", event.alertLabels ?? {}],
    ["instance_count", 1],
    ...investigationVariables(event, publicUrl),
  ]);
}

/** Variables of the first of several events in one message. Those about instances speak of all of them. */
export function groupVariablesOf(events: readonly NotificationEvent[], publicUrl: string): Variables {
  const variables = new Map(variablesOf(events[0]!, publicUrl));
  if (events.length > 1) variables.set("alert_message", events.map(eventMessage).join("\n"));
  return variables.set("instance_count", events.length);
}

/** Empty for other events. */
function investigationVariables(event: NotificationEvent, publicUrl: string): [string, VariableValue][] {
  const report = event.type === "investigationCompleted" ? event.report : undefined;
  const suspect = report?.suspects[0];
  return [
    ["investigation_uuid", report?.investigationId ?? ""],
    ["investigation_summary", report?.summary ?? ""],
    ["investigation_confidence", report?.confidence ?? ""],
    ["investigation_link", report === undefined ? "" : deepLink(event, publicUrl)],
    ["suspect_service", suspect?.service ?? ""],
    ["suspect_kind", suspect?.kind ?? ""],
  ];
}

function resolvedAt(event: NotificationEvent): string {
  return "resolvedAtMs" in event && event.resolvedAtMs !== undefined ? time(event.resolvedAtMs) : "";
}

/** The first name that the query selects from, and so what it aggregates; "" where none is found. */
function metricName(query: string): string {
  const quoted = /\{\s*"([^"]+)"/.exec(query)?.[1];
  // Only where a word begins: a search from each of its letters would take quadratic time.
  const named = /(?<![\w:.])([A-Za-z_:][\w:.]*)\s*(?:\{|\)|$)/.exec(query)?.[1];
  return quoted ?? named ?? "";
}
