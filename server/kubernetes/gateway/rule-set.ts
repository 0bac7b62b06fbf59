/** The ingestion rules of one cluster, compiled for each signal. */

import {
  type CompiledExclusion,
  compileExclusions,
  type ExclusionRule,
  environmentKeys,
  settledExclusions,
} from "../../model/exclusion.ts";
import { ingestionRuleShape } from "../../model/ingestion-rule.ts";
import { type RuleSignal, ruleSignals } from "../../model/rule-signal.ts";
import { type GatewaySignal, TestedFields } from "./wire/tested-fields.ts";

/** A rule that is not in force, and what its author has to correct. */
export interface RejectedRule {
  id: string;
  problem: string;
}

const wireSignals: readonly GatewaySignal[] = ["logs", "traces", "metrics"];

export class RuleSet {
  /** Rules in force, in their order. */
  readonly rules: readonly ExclusionRule[];
  readonly #exclusions: ReadonlyMap<RuleSignal, readonly CompiledExclusion[]>;
  readonly #fields: ReadonlyMap<GatewaySignal, TestedFields>;

  /** Rules that name another cluster are no rules of this one. Throws an Error for a pattern that is not RE2 syntax. */
  constructor(rules: readonly ExclusionRule[], cluster: string) {
    this.rules = rules;
    this.#exclusions = new Map(ruleSignals.map((signal) => [signal, compileFor(rules, signal, cluster)]));
    this.#fields = new Map(
      wireSignals.map((signal) => [signal, new TestedFields(this.exclusionsOf(signal), signal)]),
    );
  }

  /** The exclusions for rows of a signal. */
  exclusionsOf(signal: RuleSignal): readonly CompiledExclusion[] {
    return this.#exclusions.get(signal)!;
  }

  /** The same exclusions, for bodies of OTLP. */

  fieldsOf(signal: GatewaySignal): TestedFields {
    return this.#fields.get(signal)!;
  }
}

/** The hub stamps the cluster's name on every row, so what tests it is decided here. */
function compileFor(
  rules: readonly ExclusionRule[],
  signal: RuleSignal,
  cluster: string,
): CompiledExclusion[] {
  const known = Object.fromEntries(environmentKeys.map((key) => [key, cluster]));
  const settled = settledExclusions(compileExclusions(rules, signal), known);
  // A rule that names its cluster is compiled once for each attribute that can name it.
  return settled.filter(({ rule, tests }, i) => {
    const twin = settled[i - 1];
    return twin === undefined || twin.rule !== rule || !isSame(twin.tests, tests);
  });
}

function isSame<T>(some: readonly T[], others: readonly T[]): boolean {
  return some.length === others.length && some.every((each, i) => each === others[i]);
}

/**
 * Makes the next rule set. A rule that is malformed, or has a pattern that is not RE2 syntax, is rejected as a whole:
 * its last good version stays in force where there was one. No rule is ever repaired by leaving out a part of it, since
 * a rule with fewer expressions matches more.
 */
export function makeRuleSet(
  sent: readonly ExclusionRule[],
  last: RuleSet | undefined,
  cluster: string,
): { rules: RuleSet; rejected: RejectedRule[] } {
  const rejected: RejectedRule[] = [];
  const taken = sent.flatMap((rule) => {
    const problem = findRuleProblem(rule);
    if (problem === undefined) return [rule];
    rejected.push({ id: String(rule.id), problem });
    return last?.rules.filter(({ id }) => id === rule.id) ?? [];
  });
  return { rules: new RuleSet(taken, cluster), rejected };
}

function findRuleProblem(rule: ExclusionRule): string | undefined {
  const parsed = ingestionRuleShape.safeParse(rule);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    return `${path.join(".") || "the rule"}: ${message}`;
  }
  try {
    for (const signal of ruleSignals) compileExclusions([rule], signal);
    return undefined;
  } catch (error) {
    return `a value of RegexIn must be a regular expression in RE2 syntax: ${(error as Error).message}`;
  }
}
