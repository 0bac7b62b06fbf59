/** The row-level filter: the rows of a signal that telemetry rules let a caller read. Rules only allow, and add up. */

import type { Field, Filter, Signal } from "../../engine/index.ts";
import { fieldOf, makeEqualsFilter } from "../../query/index.ts";
import type { TelemetryGrant, TelemetryRule } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import { ruleSignalOf } from "../model/rule-signal.ts";

/** True where rules bind the caller. A caller without groups has what the role allows, and so has an admin. */
export function isRestricted({ groups, role }: Caller): boolean {
  return groups !== null && role !== "admin";
}

/**
 * The filter for the rows of a signal that the caller may read. A member of groups reads what a rule of one of them
 * grants, and without any such rule nothing.
 */
export function rowFilterOf(caller: Caller, rules: readonly TelemetryRule[], signal: Signal): Filter {
  if (!isRestricted(caller)) return { kind: "always" };
  // The server itself stamps this attribute, so no row of another cluster has it.
  if (caller.role === "cluster") return equals(attribute("environment"), caller.environment ?? "");
  const groups = caller.groups ?? [];
  const grants = rules
    .filter((rule) => rule.groups.some((group) => groups.includes(group)))
    .flatMap((rule) => grantsOf(rule, signal));
  return anyOf(grants);
}

function grantsOf(rule: TelemetryRule, signal: Signal): Filter[] {
  const ruleSignal = ruleSignalOf[signal];
  return rule.rules
    .filter(({ signals }) => signals.includes(ruleSignal))
    .map((grant) => allOf([...boundsOf(rule), ...matchOf(grant, signal)]));
}

function boundsOf(rule: TelemetryRule): Filter[] {
  const { cluster } = rule;
  const bounds = cluster === undefined ? [] : [inCluster(cluster)];
  return rule.type === "cluster" ? bounds : [...bounds, inNamespace(rule.namespace)];
}

/** A row's cluster is the environment that the server stamped on it; without one, what the row says itself. */
function inCluster(cluster: string): Filter {
  const stamped = attribute("environment");
  const named = equals(attribute("k8s.cluster.name"), cluster);
  return anyOf([equals(stamped, cluster), allOf([equals(stamped, ""), named])]);
}

/** A row's namespace is its attribute; without one, the namespace in a service name `/k8s/<namespace>/<service>`. */
function inNamespace(namespace: string): Filter {
  const named = attribute("k8s.namespace.name");
  const service = `(?s)/k8s/${escapePattern(namespace)}/.*`;
  const byService: Filter = {
    kind: "matches",
    field: attribute("service.name"),
    pattern: service,
    whole: true,
  };
  return anyOf([equals(named, namespace), allOf([equals(named, ""), byService])]);
}

function matchOf({ match }: TelemetryGrant, signal: Signal): Filter[] {
  return (match?.matchExpressions ?? []).map(({ key, values }) => {
    const field = matchField(key, signal);
    return anyOf(values.map((value) => makeEqualsFilter(field, value)));
  });
}

/** The field that the key names in queries, except that a time key is read as an attribute. */
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

function anyOf(of: Filter[]): Filter {
  if (of.length === 0) return { kind: "never" };
  if (of.some(({ kind }) => kind === "always")) return { kind: "always" };
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

function allOf(of: Filter[]): Filter {
  if (of.length === 0) return { kind: "always" };
  return of.length === 1 ? of[0]! : { kind: "and", of };
}

/** A regular expression that matches the text literally. */
function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
