/** Random ingestion rules, and a naive loop that decides which rows they leave out. */

import { shareJson } from "../../../server/ingest/shared-memory-json.ts";
import type { ExcludableRow, ExclusionRule } from "../../../server/model/exclusion.ts";
import type { RuleSignal } from "../../../server/model/rule-signal.ts";
import { oneOf, type Random, randomOf } from "../control/random.ts";

export const clusters = ["main", "edge", "größe"];
/** Keys for expressions, with texts that rows have under them. */
export const textsOfKey: Readonly<Record<string, readonly string[]>> = {
  "service.name": ["/k8s/shop/cart", "/k8s/shop/pay", "/k8s/ops/gate", "cart"],
  tier: ["gold", "silver", "Gold", "größer 🦜", "x".repeat(60)],
  environment: [...clusters, "production"],
  "k8s.cluster.name": clusters,
  "attributes.environment": ["main", "own"],
  log_level: ["info", "INFO", "error", "warn", "ERR", "custom", ""],
  message: ["order 4711 paid", "connection refused", "größer", "", "a\nb"],
  body: ["order 4711 paid", "gone"],
  name: ["GET /cart", "POST /pay"],
  __name__: ["requests_total", "queue_length"],
  // A name that every JavaScript object has.
  constructor: ["main"],
  absent: ["main"],
};

/** Patterns that mean the same in RE2 and JavaScript, with the flags that JavaScript needs. */
const patterns: readonly (readonly [re2: string, js: RegExp])[] = [
  ["^/k8s/shop/", /^\/k8s\/shop\//],
  ["(?i)ERR", /ERR/i],
  ["INFO", /INFO/],
  ["o.d", /o.d/],
  ["^$", /^$/],
  [".", /./],
  ["main|edge", /main|edge/],
  ["ö", /ö/],
  ["[0-9]{4}", /[0-9]{4}/],
  ["^cart$", /^cart$/],
  ["_total$", /_total$/],
];
const allSignals: readonly RuleSignal[] = ["logs", "traces", "metrics", "profiles", "kubernetesResources"];

const some = <T>(make: () => T, random: Random, max: number): T[] =>
  Array.from({ length: 1 + Math.floor(random() * max) }, make);

export function randomRules(random: Random): ExclusionRule[] {
  const count = Math.floor(random() * 4);
  return Array.from({ length: count }, (_, i) => ({
    id: `rule-${i} "\\`,
    ...(random() < 0.3 ? { cluster: oneOf(clusters, random) } : {}),
    rules: some(() => randomPart(random), random, 2),
  }));
}

/** Twenty random sets of rules, as decoding threads get them. */
export function shareRandomRules(seed: number) {
  return Array.from({ length: 20 }, (_, i) => shareJson(randomRules(randomOf(seed + i))));
}

function randomPart(random: Random): ExclusionRule["rules"][number] {
  const signals = allSignals.filter(() => random() < 0.6);
  if (random() < 0.03) return { signals, action: "Exclude" };
  return {
    signals,
    action: "Exclude",
    match: { matchExpressions: some(() => randomExpression(random), random, 3) },
  };
}

function randomExpression(random: Random) {
  const key = oneOf(Object.keys(textsOfKey), random);
  if (random() < 0.5) {
    return { key, operator: "In" as const, values: some(() => oneOf(textsOfKey[key]!, random), random, 3) };
  }
  return { key, operator: "RegexIn" as const, values: some(() => oneOf(patterns, random)[0], random, 2) };
}

/** The id of the first rule that leaves the row out. */
export function naiveRule(
  rules: readonly ExclusionRule[],
  signal: RuleSignal,
  row: ExcludableRow,
): string | undefined {
  for (const { id, cluster, rules: parts } of rules) {
    const own = new Map(Object.entries(row.attributes));
    const isOfCluster =
      cluster === undefined || own.get("environment") === cluster || own.get("k8s.cluster.name") === cluster;
    if (!isOfCluster) continue;
    for (const { signals, match } of parts) {
      if (!signals.includes(signal)) continue;
      const expressions = match?.matchExpressions ?? [];
      let holds = true;
      for (const { key, operator, values } of expressions) {
        const text = textOf(row, signal, key, own);
        holds &&= text !== undefined && values.some((value) => naiveMatch(text, operator, value));
      }
      if (holds) return id;
    }
  }
  return undefined;
}

interface Text {
  text: string;
  ignoresCase: boolean;
}

function textOf(
  row: ExcludableRow,
  signal: RuleSignal,
  key: string,
  own: Map<string, string>,
): Text | undefined {
  const found = (text: string | undefined, ignoresCase = false) =>
    text === undefined ? undefined : { text, ignoresCase };
  if (signal === "logs" && key === "log_level") return found(row.level, true);
  if (signal === "logs" && key === "message") return found(row.message);
  const isBody = signal === "profiles" || signal === "kubernetesResources";
  if (isBody && (key === "body" || key === "message")) return found(row.message);
  if (signal === "metrics" && key === "__name__") return found(row.name);
  return found(own.get(key));
}

function naiveMatch({ text, ignoresCase }: Text, operator: "In" | "RegexIn", value: string): boolean {
  if (operator === "In" && ignoresCase) {
    // The name of a range stands for all levels in it.
    return [text, text === "ERR" ? "error" : text].some((each) => each.toLowerCase() === value.toLowerCase());
  }
  if (operator === "In") return text === value;
  const [, pattern] = patterns.find(([re2]) => re2 === value)!;
  return new RegExp(pattern.source, ignoresCase ? "i" : pattern.flags).test(text);
}

/** The attributes with the environment stamped on them; a different text from the sender is kept under another name. */
export function naiveStamped(
  attributes: Readonly<Record<string, string>>,
  environment: string | null,
): Record<string, string> {
  const stamped: Record<string, string> = { ...attributes };
  if (environment === null) return stamped;
  for (const key of ["environment", "k8s.cluster.name"]) {
    const sent = stamped[key];
    if (sent !== undefined && sent !== environment) stamped[`attributes.${key}`] ??= sent;
    stamped[key] = environment;
  }
  return stamped;
}
