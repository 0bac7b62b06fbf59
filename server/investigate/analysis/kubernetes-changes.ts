/** What changed in a cluster: rollouts, scaling, restarts, lost nodes, and warnings. */

import type { CauseKind } from "../../model/investigation.ts";
import { quote } from "../query-text.ts";
import { isObject, type JsonObject, listOf, member, textOf } from "./json-member.ts";

/** A row of `kubernetes_resources`. */
export interface ResourceState {
  atMs: number;
  /** An object as JSON. */
  body: string;
  attributes: Readonly<Record<string, string>>;
}

/** One change of an object, or one kind of Event about it. */
export interface ClusterChange {
  atMs: number;
  kind: CauseKind;
  /** Services that the change may harm. */
  services: string[];
  pod?: string;
  node?: string;
  /** How often such a change is the cause of what follows it, from 0 to 1. */
  weight: number;
  sentence: string;
  query: string;
}

/** An object as it was at two times. */
interface Transition {
  before: JsonObject;
  after: JsonObject;
  row: ResourceState;
  name: string;
  service: string;
}

type Found = Pick<ClusterChange, "kind" | "weight" | "sentence"> &
  Partial<Pick<ClusterChange, "pod" | "node">>;

const workloads = new Set(["Deployment", "StatefulSet", "DaemonSet"]);
const pathsListed = 3;

/** Finds changes from `fromMs` on. `rows` are in ascending order of their times, and begin before it. */
export function findClusterChanges(rows: readonly ResourceState[], fromMs: number): ClusterChange[] {
  const last = new Map<string, JsonObject>();
  const onNode = new Map<string, Set<string>>();
  const found: ClusterChange[] = [];
  for (const row of rows) {
    const { "k8s.resource.kind": kind = "", "k8s.resource.uid": uid = "" } = row.attributes;
    const { "k8s.resource.name": name = "", "service.name": service = "" } = row.attributes;
    const { "k8s.node.name": node = "", "k8s.resource.change": change } = row.attributes;
    if (kind === "Pod" && node !== "" && service !== "")
      onNode.set(node, (onNode.get(node) ?? new Set()).add(service));
    const after = parseObject(row.body);
    if (after === undefined) continue;
    const before = last.get(uid);
    last.set(uid, after);
    if (row.atMs < fromMs) continue;
    const query = `kubernetes_resources{k8s.resource.kind=${quote(kind)}, k8s.resource.name=${quote(name)}}`;
    const add = (each: Found) => {
      const services = each.node === undefined ? [service] : [...(onNode.get(each.node) ?? [])];
      found.push({ atMs: row.atMs, query, ...each, services: services.filter((one) => one !== "") });
    };
    if (kind === "Event") for (const each of describeEvent(after, row)) add(each);
    else if (before !== undefined && change !== "deleted")
      for (const each of compare(kind, { before, after, row, name, service })) add(each);
  }
  return mergeRepeated(found);
}

function compare(kind: string, transition: Transition): Found[] {
  if (workloads.has(kind)) return compareWorkloads(transition);
  if (kind === "Pod") return comparePods(transition);
  if (kind === "Node") return compareNodes(transition);
  if (kind === "HorizontalPodAutoscaler") return compareScaling(transition);
  return [];
}

function compareWorkloads({ before, after, name }: Transition): Found[] {
  const found: Found[] = [];
  const images = (object: JsonObject) =>
    new Map(
      containersOf(object, "spec.template.spec").map((each) => [textOf(each.name), textOf(each.image)]),
    );
  const earlier = images(before);
  for (const [container, image] of images(after)) {
    const old = earlier.get(container);
    if (old === undefined || old === image) continue;
    const sentence = `the image of ${name} changed from ${old} to ${image}`;
    found.push({ kind: "change", weight: 0.7, sentence });
  }
  const [from, to] = [member(before, "spec.replicas"), member(after, "spec.replicas")];
  if (typeof from === "number" && typeof to === "number" && from !== to)
    found.push({
      kind: "change",
      weight: to < from ? 0.4 : 0.15,
      sentence: `${name} was scaled from ${from} to ${to}`,
    });
  const paths = changedPaths(member(before, "spec.template"), member(after, "spec.template"), "")
    .filter((path) => !path.endsWith(".image") && !/restartedAt/.test(path))
    .slice(0, pathsListed);
  if (paths.length > 0)
    found.push({
      kind: "change",
      weight: 0.6,
      sentence: `the configuration of ${name} changed: ${paths.join(", ")}`,
    });
  const generations = [member(before, "metadata.generation"), member(after, "metadata.generation")];
  if (found.length === 0 && typeof generations[0] === "number" && generations[0] !== generations[1]) {
    const sentence = `the configuration of ${name} changed (generation ${generations.join(" to ")})`;
    found.push({ kind: "change", weight: 0.5, sentence });
  }
  return found;
}

function comparePods({ before, after, name }: Transition): Found[] {
  const found: Found[] = [];
  const restarts = (object: JsonObject) =>
    listOf(member(object, "status.containerStatuses")).reduce(
      (sum, { restartCount }) => sum + (typeof restartCount === "number" ? restartCount : 0),
      0,
    );
  if (restarts(after) > restarts(before)) {
    const reasons = listOf(member(after, "status.containerStatuses")).map((each) =>
      textOf(member(each, "lastState.terminated.reason")),
    );
    const isMemory = reasons.includes("OOMKilled");
    const reason = reasons.find((each) => each !== "");
    found.push({
      ...{ kind: isMemory ? "memory" : "unavailable", weight: isMemory ? 0.85 : 0.7, pod: name },
      sentence: `the pod ${name} restarted${reason === undefined ? "" : ` (${reason})`}`,
    });
  }
  const waiting = (object: JsonObject) =>
    listOf(member(object, "status.containerStatuses")).map((each) =>
      textOf(member(each, "state.waiting.reason")),
    );
  const reason = waiting(after).find((each) => /BackOff|Error|Invalid/.test(each));
  if (reason !== undefined && !waiting(before).includes(reason))
    found.push({ kind: "unavailable", weight: 0.7, pod: name, sentence: `the pod ${name} waits: ${reason}` });
  if (
    textOf(member(after, "status.reason")) === "Evicted" &&
    textOf(member(before, "status.reason")) !== "Evicted"
  )
    found.push({ kind: "unavailable", weight: 0.6, pod: name, sentence: `the pod ${name} was evicted` });
  return found;
}

function compareNodes({ before, after, name }: Transition): Found[] {
  const conditions = (object: JsonObject) =>
    new Map(
      listOf(member(object, "status.conditions")).map((each) => [textOf(each.type), textOf(each.status)]),
    );
  const earlier = conditions(before);
  return [...conditions(after)].flatMap(([type, status]): Found[] => {
    if (earlier.get(type) === status) return [];
    if (type === "Ready")
      return status === "True"
        ? []
        : [{ kind: "unavailable", weight: 0.7, node: name, sentence: `the node ${name} is not ready` }];
    if (status !== "True") return [];
    const kind = type === "MemoryPressure" ? "memory" : "unavailable";
    return [{ kind, weight: 0.6, node: name, sentence: `the node ${name} has ${type}` }];
  });
}

function compareScaling({ before, after, name }: Transition): Found[] {
  const [from, to] = [member(before, "status.desiredReplicas"), member(after, "status.desiredReplicas")];
  if (typeof from !== "number" || typeof to !== "number" || from === to) return [];
  const sentence = `the autoscaler ${name} wants ${to} pods, before it wanted ${from}`;
  return [{ kind: "change", weight: to < from ? 0.3 : 0.1, sentence }];
}

/** Warnings by their reason: the kind of cause that they speak for, and their weight. */
const warningKinds: readonly (readonly [RegExp, CauseKind, number])[] = [
  [/OOM/i, "memory", 0.85],
  [/NodeNotReady|NodeLost/, "unavailable", 0.7],
  [
    /^Failed$|BackOff|CrashLoop|FailedCreate|ErrImage|Evict|FailedScheduling|FailedMount|FailedAttach/i,
    "unavailable",
    0.65,
  ],
  [/Unhealthy|ProbeWarning/, "unavailable", 0.35],
  [/./, "unavailable", 0.05],
];

function describeEvent(event: JsonObject, { attributes }: ResourceState): Found[] {
  const { "k8s.event.type": type, "k8s.event.reason": reason = "", "k8s.event.count": count } = attributes;
  const { "k8s.object.kind": kind = "", "k8s.object.name": name = "" } = attributes;
  if (type !== "Warning") return [];
  const message = textOf(event.message).slice(0, 200);
  const [, cause, weight] = warningKinds.find(([pattern]) => pattern.test(reason)) ?? warningKinds.at(-1)!;
  const times = count === undefined || count === "1" ? "" : ` (${count} times)`;
  const place = kind === "Pod" ? { pod: name } : kind === "Node" ? { node: name } : {};
  const sentence = `Warning ${reason} of ${kind} ${name}${times}${message === "" ? "" : `: ${message}`}`;
  return [{ kind: cause, weight, ...place, sentence }];
}

/** One change for each sort of change of one object: the first, with the heaviest weight. */
function mergeRepeated(changes: readonly ClusterChange[]): ClusterChange[] {
  const sorts = Map.groupBy(
    changes,
    ({ query, sentence }) => `${query} ${sentence.replace(/\d+/g, "#").slice(0, 60)}`,
  );
  return [...sorts.values()].map((own) => ({
    ...own[0]!,
    weight: Math.max(...own.map(({ weight }) => weight)),
  }));
}

function containersOf(object: JsonObject, path: string): JsonObject[] {
  return listOf(member(object, `${path}.containers`));
}

/** Paths of members that differ. */
function changedPaths(before: unknown, after: unknown, path: string): string[] {
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      changedPaths(before[key], after[key], path === "" ? key : `${path}.${key}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((each, i) => changedPaths(each, after[i], `${path}[${i}]`));
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
