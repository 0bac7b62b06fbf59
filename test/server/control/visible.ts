/**
 * A naive model of telemetry rules: whether a row is visible to members of groups. Row-level filters are tested against
 * it.
 */

import type { Random } from "./random.ts";
import { oneOf } from "./random.ts";

export interface Row {
  /** Name of the signal in queries. */
  signal: string;
  level: string;
  attributes: Record<string, string>;
}

export interface Rule {
  type: "cluster" | "namespace";
  groups: string[];
  cluster?: string;
  namespace?: string;
  rules: {
    signals: string[];
    match?: { matchExpressions: { key: string; operator: "In"; values: string[] }[] };
  }[];
}

function namespaceOf({ attributes }: Row): string | undefined {
  const named = attributes["k8s.namespace.name"];
  if (named !== undefined && named !== "") return named;
  const [root, k8s, namespace, ...service] = (attributes["service.name"] ?? "").split("/");
  return root === "" && k8s === "k8s" && service.length > 0 ? namespace : undefined;
}

export function isVisible(row: Row, groups: readonly string[], rules: readonly Rule[]): boolean {
  for (const rule of rules) {
    if (!rule.groups.some((group) => groups.includes(group))) continue;
    if (rule.cluster !== undefined && row.attributes["k8s.cluster.name"] !== rule.cluster) continue;
    if (rule.type === "namespace" && namespaceOf(row) !== rule.namespace) continue;
    for (const grant of rule.rules) {
      if (grant.signals.includes(ruleName(row.signal)) && matches(row, grant.match?.matchExpressions ?? []))
        return true;
    }
  }
  return false;
}

function ruleName(signal: string): string {
  return signal === "kubernetes_resources" ? "kubernetesResources" : signal;
}

function matches(row: Row, expressions: readonly { key: string; values: string[] }[]): boolean {
  return expressions.every(({ key, values }) => {
    if (row.signal === "logs" && key === "log_level") {
      const names = row.level === "ERR" ? ["err", "error"] : [row.level.toLowerCase()];
      return values.some((value) => names.includes(value.toLowerCase()));
    }
    return values.includes(row.attributes[key] ?? "");
  });
}

const clusters = ["prod", "test"];
const namespaces = ["shop", "pay", "a.b"];
export const groupNames = ["red", "green", "blue"];
export const signals = ["logs", "metrics", "traces", "profiles", "kubernetes_resources"];

const some = <T>(choices: readonly T[], random: Random) => choices.filter(() => random() < 0.5);

/** Rows with and without cluster, namespace and service, and some that only look alike. */
export function randomRow(random: Random, signal = oneOf(signals, random)): Row {
  const attributes: Record<string, string> = {};
  const namespace = oneOf(namespaces, random);
  if (random() < 0.8) attributes["k8s.cluster.name"] = oneOf(clusters, random);
  if (random() < 0.5) attributes["k8s.namespace.name"] = oneOf([...namespaces, "", "axb"], random);
  if (random() < 0.8) {
    const service = oneOf(["cart", "db", "deep/er"], random);
    attributes["service.name"] = oneOf(
      [`/k8s/${namespace}/${service}`, service, `/k8s/${namespace}`, `x/k8s/${namespace}/y`, "/k8s/axb/cart"],
      random,
    );
  }
  if (random() < 0.5) attributes.team = oneOf(["one", "two"], random);
  return { signal, level: oneOf(["info", "ERROR", "ERR", ""], random), attributes };
}

export function randomRule(random: Random): Rule {
  const type = oneOf(["cluster", "namespace"] as const, random);
  const rules = Array.from({ length: 1 + Math.floor(random() * 2) }, () => {
    const chosen = some(signals, random).map(ruleName);
    const matchExpressions = some(
      [
        { key: "team", operator: "In" as const, values: [oneOf(["one", "two", ""], random)] },
        {
          key: "log_level",
          operator: "In" as const,
          values: ["error", "info"].slice(Math.floor(random() * 2)),
        },
      ],
      random,
    );
    return {
      signals: chosen.length === 0 ? ["logs"] : chosen,
      ...(random() < 0.5 ? {} : { match: { matchExpressions } }),
    };
  });
  return {
    type,
    groups: some(groupNames, random),
    ...(random() < 0.3 ? {} : { cluster: oneOf(clusters, random) }),
    ...(type === "cluster" ? {} : { namespace: oneOf(namespaces, random) }),
    rules,
  };
}

export function randomGroups(random: Random): string[] {
  return some(groupNames, random);
}
