import type { RowSignal } from "../../engine/index.ts";
import { parseLogsQuery } from "../parse/logs-query.ts";
import { parseExpression } from "../parse/parser.ts";
import { readSource, refuse } from "../text/source.ts";
import type { Aggregate, Expression } from "../tree/expression.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import { createPlanContext, type PlanContext, type VariableValues } from "./context.ts";
import type { PlanStep } from "./ordered/ordered-step.ts";
import { planSearchTerms } from "./search-terms.ts";
import { planSelector } from "./selector.ts";
import { simplifySteps } from "./simplification.ts";
import { refuseTimes } from "./times.ts";

/** What the text of a query leaves open. */
export interface PlanOptions {
  /** Values of the query's `$name`s, by name. */
  variables?: VariableValues;
}

/** The plan of a search for rows, as plain data. */
export interface SearchPlan {
  signal: RowSignal;
  steps: PlanStep[];
  /**
   * Attributes that the query reads and that none of its stages extracts. Rows have these attributes only if they were
   * stored with them.
   */
  names: string[];
  /** Sentences for people, about parts of the query that the person may have meant differently. */
  warnings: string[];
}

/** Plans a search for logs, by a structured query or search terms. Throws a QueryError. */
export function planLogs(text: string, options: PlanOptions = {}): SearchPlan {
  const source = readSource(text);
  const { tree, warnings } = parseLogsQuery(source);
  const context = createPlanContext(source, options.variables);
  const steps: PlanStep[] =
    tree.kind === "terms"
      ? [{ kind: "filter", filter: planSearchTerms(tree, context) }]
      : planSelector(selectorOfSearch(tree, "logs", context), context);
  return { signal: "logs", steps: simplifySteps(steps), names: [...context.names], warnings };
}

/**
 * Plans a search for the rows of a signal. `{…}` without a name selects rows of this signal, and an empty query selects
 * all of them. Search terms are accepted only for logs. Throws a QueryError.
 */
export function planSearch(signal: RowSignal, text: string, options: PlanOptions = {}): SearchPlan {
  if (signal === "logs") return planLogs(text, options);
  const source = readSource(text);
  const context = createPlanContext(source, options.variables);
  const selected = selectorOfSearch(parseExpression(source, signal), signal, context);
  const steps = simplifySteps(planSelector(selected, context));
  return { signal, steps, names: [...context.names], warnings: [] };
}

/**
 * Returns the selector that an expression consists of, or whose rows it counts. Throws a QueryError for any other
 * expression, and for a selector of another signal.
 */
function selectorOfSearch(tree: Expression, signal: RowSignal, context: PlanContext): TelemetrySelector {
  if (tree.kind === "selector") return checkSignal(tree, signal, context);
  if (tree.kind === "aggregate") return selectorOfCount(tree, signal, context);
  const calculation = tree.kind === "operation" ? `\`${tree.op}\` calculates` : "this calculates";
  const problem = `${describeSearch(signal)}; ${calculation} with series and belongs to a timeseries`;
  return refuse(context.source, tree, problem + suggestQuotes(tree));
}

function describeSearch(signal: RowSignal): string {
  return `a search for ${signal} returns ${signal === "traces" ? "spans" : "rows"}`;
}

/**
 * The end of an error message that suggests quotes. `logs != error` compares logs with a metric, but the person
 * probably meant the text "error". Returns "" for expressions of other kinds.
 */
function suggestQuotes(tree: Expression): string {
  if (tree.kind !== "operation" || tree.right.kind !== "selector" || tree.right.of.kind !== "metric")
    return "";
  const [name] = tree.right.of.name.parts;
  return name?.kind === "characters" ? `; a text stands in quotes: "${name.text}"` : "";
}

function selectorOfCount(tree: Aggregate, signal: RowSignal, context: PlanContext): TelemetrySelector {
  const { op, field, of, grouping } = tree;
  if (grouping !== null) {
    const problem = `${describeSearch(signal)} and cannot group; leave out \`${grouping.kind} (…)\` or ask for a timeseries`;
    refuse(context.source, grouping, problem);
  }
  if (op !== "count" || field !== null || of.kind !== "selector") {
    refuse(
      context.source,
      tree,
      `${describeSearch(signal)}; of all aggregations it takes count(${signal}{…}) alone`,
    );
  }
  return checkSignal(of, signal, context);
}

function checkSignal(tree: TelemetrySelector, signal: RowSignal, context: PlanContext): TelemetrySelector {
  refuseTimes(tree, context);
  if (tree.of.kind === "signal" && tree.of.name === signal) return tree;
  const what = tree.of.kind === "signal" ? `\`${tree.of.name}\`` : "a metric";
  return refuse(context.source, tree, `a search for ${signal} selects \`${signal}{…}\`, not ${what}`);
}
