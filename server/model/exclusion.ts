/**
 * Ingestion rules: which rows are left out (interface specification, section 2.5). Pure, and of no other part of the server, so that
 * whoever forwards telemetry can leave the same rows out before they are sent.
 */

import { RE2JS } from "re2js";
import type { ExcludableSignal, IngestionRule } from "./ingestion-rule.ts";

/** A rule under its id. A row is left out where one of its parts holds: of a part, all expressions must. */
export type ExclusionRule = Omit<IngestionRule, "id"> & { id: string };

type MatchExpression = NonNullable<IngestionRule["rules"][number]["match"]>["matchExpressions"][number];

/** Where a row has the text that an expression is about. */
type TextField = { kind: "level" | "message" | "name" } | { kind: "attribute"; key: string };

/** Expressions of one rule that must all hold. */
export interface CompiledExclusion {
  /** Id of the rule. */
  rule: string;
  tests: readonly CompiledTest[];
}

interface CompiledTest {
  field: TextField;
  matches(text: string): boolean;
}

export interface ExcludableRow {
  level?: string;
  /** Of a profile or a Kubernetes resource, the body. */
  message?: string;
  /** Of a metric. */
  name?: string;
  attributes: Readonly<Record<string, string>>;
}

/** Which attributes tell of what environment a row is. */
export const environmentKeys = ["environment", "k8s.cluster.name"] as const;

/** What the rules leave out of one signal, in the order in which it is looked at. Throws an Error for a pattern that is not RE2. */
export function compileExclusions(
  rules: readonly ExclusionRule[],
  signal: ExcludableSignal,
): CompiledExclusion[] {
  return rules.flatMap(({ id, cluster, rules: parts }) =>
    parts
      .filter(({ signals }) => signals.includes(signal))
      .flatMap(({ match }) => {
        const tests = (match?.matchExpressions ?? []).map((expression) => compileTest(expression, signal));
        return withCluster(tests, cluster).map((all) => ({ rule: id, tests: all }));
      }),
  );
}

/** The same for rows of which some attributes are known: tests of these are settled. */
export function settledExclusions(
  exclusions: readonly CompiledExclusion[],
  known: Readonly<Record<string, string>>,
): CompiledExclusion[] {
  return exclusions.flatMap(({ rule, tests }) => {
    const open: CompiledTest[] = [];
    for (const test of tests) {
      const { field } = test;
      if (field.kind !== "attribute" || !Object.hasOwn(known, field.key)) open.push(test);
      else if (!test.matches(known[field.key]!)) return [];
    }
    return [{ rule, tests: open }];
  });
}

/** The id of the first rule that leaves the row out, or undefined. */
export function excludedBy(exclusions: readonly CompiledExclusion[], row: ExcludableRow): string | undefined {
  return exclusions.find(({ tests }) =>
    tests.every(({ field, matches }) => {
      const text = textOf(row, field);
      return text !== undefined && matches(text);
    }),
  )?.rule;
}

function textOf(row: ExcludableRow, field: TextField): string | undefined {
  if (field.kind !== "attribute") return row[field.kind];
  return Object.hasOwn(row.attributes, field.key) ? row.attributes[field.key] : undefined;
}

/** A row of the environment is one that carries its name under either key. */
function withCluster(tests: CompiledTest[], cluster: string | undefined): CompiledTest[][] {
  if (cluster === undefined) return [tests];
  return environmentKeys.map((key) => {
    const isOfCluster: CompiledTest = {
      field: { kind: "attribute", key },
      matches: (text) => text === cluster,
    };
    return [isOfCluster, ...tests];
  });
}

function compileTest({ key, operator, values }: MatchExpression, signal: ExcludableSignal): CompiledTest {
  const field = fieldOf(key, signal);
  // Levels are the same in any case.
  const isLevel = field.kind === "level";
  if (operator === "RegexIn") {
    const patterns = values.map((value) => RE2JS.compile(value, isLevel ? RE2JS.CASE_INSENSITIVE : 0));
    return { field, matches: (text) => patterns.some((pattern) => pattern.test(text)) };
  }
  const wanted = new Set(isLevel ? values.map((value) => value.toLowerCase()) : values);
  return { field, matches: (text) => wanted.has(isLevel ? text.toLowerCase() : text) };
}

/** Names that are no attributes, as the query language has them. */
function fieldOf(key: string, signal: ExcludableSignal): TextField {
  const hasBody = signal === "profiles" || signal === "kubernetesResources";
  if (signal === "logs" && key === "log_level") return { kind: "level" };
  if (signal === "logs" && key === "message") return { kind: "message" };
  if (hasBody && (key === "message" || key === "body")) return { kind: "message" };
  if (signal === "metrics" && key === "__name__") return { kind: "name" };
  return { kind: "attribute", key };
}

/** Why a pattern is not RE2 syntax, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
