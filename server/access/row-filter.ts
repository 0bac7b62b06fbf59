/** What telemetry rules let a caller read, as a filter on the rows of a signal: additive, allow-only. */

import type { Field, Filter, Signal } from "../../engine/index.ts";
import { fieldOf } from "../../query/index.ts";
import type { RuleSignal, TelemetryGrant, TelemetryRule } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";

const ruleSignalOf: Readonly<Record<Signal, RuleSignal>> = {
  logs: "logs",
  traces: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetesResources",
};

/** Whether rules say what the caller may see. A caller that no group binds has what the role allows; so has an admin. */
export function isRestricted({ groups, role }: Caller): boolean {
  return groups !== null && role !== "admin";
}

/**
 * The rows of a signal that the caller may read: a member of groups reads what a rule of one of them grants, and without any such
 * rule nothing.
 */
export function rowFilterOf(caller: Caller, rules: readonly TelemetryRule[], signal: Signal): Filter {
  if (!isRestricted(caller)) return { kind: "always" };
  const groups = caller.groups ?? [];
  const grants = rules
    .filter((rule) => rule.groups.some((group) => groups.includes(group)))
    .flatMap((rule) => grantsOf(rule, signal));
  return either(grants);
}

function grantsOf(rule: TelemetryRule, signal: Signal): Filter[] {
  const wanted = ruleSignalOf[signal];
  return rule.rules
    .filter(({ signals }) => signals.includes(wanted))
    .map((grant) => both([...boundsOf(rule), ...matchOf(grant, signal)]));
}

function boundsOf(rule: TelemetryRule): Filter[] {
  const { cluster } = rule;
  const bounds = cluster === undefined ? [] : [equals(attribute("k8s.cluster.name"), cluster)];
  return rule.type === "cluster" ? bounds : [...bounds, inNamespace(rule.namespace)];
}

/** The namespace of a row is its attribute, else it stands in `/k8s/<namespace>/<service>`, its service's name. */
function inNamespace(namespace: string): Filter {
  const named = attribute("k8s.namespace.name");
  const service = `(?s)/k8s/${quoted(namespace)}/.*`;
  const byService: Filter = {
    kind: "matches",
    field: attribute("service.name"),
    pattern: service,
    whole: true,
  };
  return either([equals(named, namespace), both([equals(named, ""), byService])]);
}

function matchOf({ match }: TelemetryGrant, signal: Signal): Filter[] {
  return (match?.matchExpressions ?? []).map(({ key, values }) => {
    const field = matchField(key, signal);
    return either(values.map((value) => equals(field, field.kind === "level" ? value.toLowerCase() : value)));
  });
}

/** A key names what it names in queries; but times are for ranges, not for rules. */
function matchField(key: string, signal: Signal): Field {
  const field = fieldOf(key, signal);
  return field.kind === "time" ? attribute(key) : field;
}

function attribute(key: string): Field {
  return { kind: "attribute", key };
}

function equals(field: Field, value: string): Filter {
  return { kind: "equals", field, value };
}

function either(of: Filter[]): Filter {
  if (of.length === 0) return { kind: "never" };
  if (of.some(({ kind }) => kind === "always")) return { kind: "always" };
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

function both(of: Filter[]): Filter {
  if (of.length === 0) return { kind: "always" };
  return of.length === 1 ? of[0]! : { kind: "and", of };
}

/** A text as a pattern that matches it alone. */
function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
