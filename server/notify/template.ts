/**
 * Fills variables such as `$alert_name` into what people wrote for a webhook. Each value is escaped for the place where
 * it stands.
 */
import type { NotificationEvent } from "../model/event.ts";
import { envelopeOf } from "./envelope.ts";
import { rulesOf, time } from "./event-types.ts";
import { deepLink } from "./message.ts";

/** The values by name. Outside strings of a JSON body, each is written as a JSON value of its type. */
export type Variables = ReadonlyMap<string, string | number | Readonly<Record<string, string>>>;

export function variablesOf(event: NotificationEvent, publicUrl: string): Variables {
  const { labels } = event;
  return new Map<string, string | number | Readonly<Record<string, string>>>([
    ["alert_name", event.alertName],
    ["alert_description", event.alertDescription],
    ["alert_uuid", event.alertId],
    ["alert_fire_uuid", event.fireId],
    ["alert_state", rulesOf(event.type).state],
    ["alert_message", envelopeOf(event, publicUrl).message],
    ["deep_link", deepLink(event, publicUrl)],
    ["environment", labels.environment ?? labels["k8s.cluster.name"] ?? ""],
    ["service", labels["service.name"] ?? ""],
    ["attributes", labels],
    ["fired_at", time(event.firedAtMs)],
    ["resolved_at", resolvedAt(event)],
    ["breaching_datapoint_value", event.breached.value ?? ""],
    ["breaching_datapoint_time", time(event.breached.bucketMs)],
    ["metric_name", metricName(event.query)],
    ...investigationVariables(event, publicUrl),
  ]);
}

/** Empty for other events. */
function investigationVariables(event: NotificationEvent, publicUrl: string): [string, string | number][] {
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
  const named = /([A-Za-z_:][\w:.]*)\s*(?:\{|\)|$)/.exec(query)?.[1];
  return quoted ?? named ?? "";
}

/** Replaces variables by their escaped values. Unknown names stay as they are. Names within a value stay, too. */
function replaceVariables(
  template: string,
  variables: Variables,
  escapeValue: (value: string, at: number) => string,
): string {
  return template.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string, at: number) => {
    const value = variables.get(name);
    return value === undefined ? whole : escapeValue(textOf(value), at);
  });
}

function textOf(value: string | number | Readonly<Record<string, string>>): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Throws an Error for people where values would make the URL invalid or change the depth of its path. */
export function fillUrl(template: string, variables: Variables): URL {
  const filled = URL.parse(
    replaceVariables(template, variables, (value) => encodeURIComponent(value.toWellFormed())),
  );
  const plain = URL.parse(replaceVariables(template, variables, () => "x"));
  if (filled === null || plain === null)
    throw new Error("the address of the webhook is no URL once its variables are filled in");
  // A value such as `..` would lead to a parent folder.
  const depth = (url: URL) => url.pathname.split("/").length;
  if (depth(filled) !== depth(plain))
    throw new Error("a variable's value would change the path of the webhook's address");
  return filled;
}

export function fillHeader(template: string, variables: Variables): string {
  const filled = replaceVariables(template, variables, (value) =>
    value.replace(/[\p{Cc}\u2028\u2029]+/gu, " "),
  );
  // Characters beyond Latin-1 are sent as the bytes of UTF-8, as browsers and proxies read them.
  return Buffer.from(filled, "utf8").toString("latin1");
}

/** Escapes values as `contentType` demands. Without a content type, a template that begins like JSON counts as JSON. */
export function fillBody(template: string, contentType: string | undefined, variables: Variables): string {
  const type = contentType?.toLowerCase() ?? (/^\s*[{[]/.test(template) ? "application/json" : "text/plain");
  if (type.includes("json")) return fillJson(template, variables);
  if (type.includes("x-www-form-urlencoded")) {
    return replaceVariables(template, variables, (value) => encodeURIComponent(value.toWellFormed()));
  }
  if (type.includes("xml") || type.includes("html"))
    return replaceVariables(template, variables, escapeMarkup);
  return replaceVariables(template, variables, (value) => value);
}

/** Fills variables into JSON. Within a string, a value is escaped; elsewhere it becomes a JSON value of its own. */
function fillJson(template: string, variables: Variables): string {
  const inString = findStrings(template);
  return template.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string, at: number) => {
    const value = variables.get(name);
    if (value === undefined) return whole;
    if (!inString[at]) return JSON.stringify(value);
    return JSON.stringify(textOf(value)).slice(1, -1);
  });
}

function findStrings(json: string): Uint8Array {
  const inside = new Uint8Array(json.length);
  let isInside = false;
  for (let i = 0; i < json.length; i++) {
    inside[i] = isInside ? 1 : 0;
    if (json[i] === '"') isInside = !isInside;
    else if (isInside && json[i] === "\\") inside[++i] = 1;
  }
  return inside;
}

export function escapeMarkup(text: string): string {
  const names: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => names[character]!);
}
