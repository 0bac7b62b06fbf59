/** Decodes bodies of Datadog's log intake into log rows: objects in JSON, and text. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import { isGiven, type JsonFields, type OnNumber } from "../json/json-row.ts";
import { readJsonObjects } from "../json/read-objects.ts";
import { forEachLine } from "../json/row-splitter.ts";
import { textOfLevel } from "../loggers/level.ts";
import { readTime } from "../loggers/log-time.ts";
import { readUntimedFields } from "../loggers/logger-row.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";

/** Fields that all rows of a request have where its parameters give them; a field of the row's own stays. */
export const sharedFields = ["ddsource", "ddtags", "hostname", "service"] as const;

/** Fields and tags that other protocols know by another name. */
const attributeNames: ReadonlyMap<string, string> = new Map([
  ["hostname", "host.name"],
  ["service", serviceKey],
  ["env", "deployment.environment.name"],
  ["version", "service.version"],
  ["kube_cluster_name", "k8s.cluster.name"],
  ["kube_namespace", "k8s.namespace.name"],
  ["kube_deployment", "k8s.deployment.name"],
  ["kube_stateful_set", "k8s.statefulset.name"],
  ["kube_daemon_set", "k8s.daemonset.name"],
  ["kube_job", "k8s.job.name"],
  ["kube_cronjob", "k8s.cronjob.name"],
  ["kube_container_name", "k8s.container.name"],
  ["pod_name", "k8s.pod.name"],
]);
/** Fields that Datadog takes for the time of a log, the first that holds one. */
const timeNames = ["timestamp", "@timestamp", "_timestamp", "Timestamp", "eventTime", "date"] as const;
const tagsKey = "ddtags";
const statusKey = "status";

export function readDatadogLogs(body: Buffer, sink: RowSink, { parameters = {} }: BodyTask): void {
  const copyCost = textLength(parameters);
  readJsonObjects(body, sink, (json, onNumber) => {
    // The agent tries the address with an empty object when it starts.
    if (Object.keys(json).length === 0) return undefined;
    sink.countRepeatedBytes(copyCost);
    return readLog({ ...parameters, ...json }, onNumber, sink);
  });
}

/** Each line is a message. */
export function readDatadogText(body: Buffer, sink: RowSink, { parameters = {} }: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const { attributes } = readLog({ ...parameters }, () => undefined, sink);
  const copyCost = textLength(parameters);
  forEachLine(body, 0, (from, to, line) => {
    sink.countRepeatedBytes(copyCost);
    const message = body.toString("utf8", from, to).replace(/\r$/, "");
    const row = { timeNs: sink.arrivalNs(), level: "", message, attributes };
    sink.refuseLineOnProblem(line, () => sink.addUncounted(row));
  });
}

/** The field of the time is taken out of the object. */
function readLog(json: JsonFields, onNumber: OnNumber, sink: RowSink): LogRow {
  const time = findTime(json, onNumber);
  if (time !== undefined) delete json[time.name];
  const read = readUntimedFields(json, {}, onNumber);
  const attributes: Record<string, string> = Object.create(null);
  for (const key in read.attributes) {
    if (key !== tagsKey) attributes[attributeNames.get(key) ?? key] = read.attributes[key]!;
  }
  for (const [key, text] of readTags(read.attributes[tagsKey] ?? "")) attributes[key] ??= text;
  const name = agentServiceName(attributes);
  if (name !== undefined) attributes[serviceKey] = name;
  const level = textOfLevel(json[statusKey]);
  return {
    level: isLevel(level) ? level : read.level,
    message: read.message,
    attributes,
    timeNs: time?.nanos ?? sink.arrivalNs(),
  };
}

/** `status` holds the level, but is a number of HTTP in many logs that are JSON. */
function isLevel(status: string): boolean {
  return status !== "" && !/^\d{3}$/.test(status);
}

function findTime(json: JsonFields, onNumber: OnNumber): { name: string; nanos: bigint } | undefined {
  for (const name of timeNames) {
    const value = json[name];
    if (!isGiven(value)) continue;
    if (typeof value === "number") onNumber(value);
    const time = typeof value === "object" ? undefined : readTime(value);
    if (time !== undefined) return { name, nanos: time.nanos };
  }
  return undefined;
}

function textLength(texts: Readonly<Record<string, string>>): number {
  return Object.entries(texts).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
}

/** Tags such as `env:prod,team:shop`. A tag that comes more than once has its values with commas between. */
function readTags(text: string): Map<string, string> {
  const tags = new Map<string, string>();
  for (const tag of text.split(",")) {
    const trimmed = tag.trim();
    if (trimmed === "") continue;
    const colon = trimmed.indexOf(":");
    const sent = colon < 0 ? trimmed : trimmed.slice(0, colon);
    const key = attributeNames.get(sent) ?? sent;
    const value = colon < 0 ? "" : trimmed.slice(colon + 1);
    const before = tags.get(key);
    tags.set(key, before === undefined ? value : `${before},${value}`);
  }
  return tags;
}
