import type { Step } from "../../engine/index.ts";
import { parseLogsQuery } from "../parse/logs-query.ts";
import { parseExpression } from "../parse/parser.ts";
import { readSource, refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/aggregate.ts";
import type { Expression } from "../tree/expression.ts";
import type { Selector, SignalName } from "../tree/selector.ts";
import { type PlanContext, planContext } from "./context.ts";
import { termsFilter } from "./search-terms.ts";
import { selectorSteps } from "./selector.ts";
import { simplifySteps } from "./simplification.ts";

export interface PlanOptions {
  /** Values for the `$name`s of the query, by name. */
  variables?: Readonly<Record<string, string>>;
}

/** What a search for rows does, as plain data. */
export interface RowsPlan {
  signal: SignalName;
  steps: Step[];
  /** Attributes that the query reads and no stage of it extracts: a row has them only if it was stored with them. */
  names: string[];
  /** Sentences for people about what the query may not mean. */
  warnings: string[];
}

/** Plans a search for logs, structured or in terms. Throws a QueryError. */
export function planLogs(text: string, options: PlanOptions = {}): RowsPlan {
  const source = readSource(text);
  const { tree, warnings } = parseLogsQuery(source);
  const context = planContext(source, new Map(Object.entries(options.variables ?? {})));
  const steps: Step[] =
    tree.kind === "terms"
      ? [{ kind: "filter", filter: termsFilter(tree, context) }]
      : selectorSteps(selectedRows(tree, "logs", context), context);
  return { signal: "logs", steps: simplifySteps(steps), names: [...context.names], warnings };
}

/** Plans a search for rows of a signal: `{…}` and an empty query select from it. Only logs are searched for by terms too. Throws a QueryError. */
export function planRows(signal: SignalName, text: string, options: PlanOptions = {}): RowsPlan {
  if (signal === "logs") return planLogs(text, options);
  const source = readSource(text);
  const context = planContext(source, new Map(Object.entries(options.variables ?? {})));
  const selected = selectedRows(parseExpression(source, signal), signal, context);
  const steps = simplifySteps(selectorSteps(selected, context));
  return { signal, steps, names: [...context.names], warnings: context.warnings };
}

/** Plans a search for spans. Throws a QueryError. */
export function planSpans(text: string, options: PlanOptions = {}): RowsPlan {
  return planRows("traces", text, options);
}

/** The selector of a signal's rows that an expression is, or whose rows it counts. */
function selectedRows(tree: Expression, signal: SignalName, context: PlanContext): Selector {
  if (tree.kind === "selector") return ofSignal(tree, signal, context);
  if (tree.kind === "aggregate") return countedRows(tree, signal, context);
  const calculation = tree.kind === "operation" ? `\`${tree.op}\` calculates` : "this calculates";
  const problem = `${searchFor(signal)}; ${calculation} with series and belongs to a timeseries`;
  return refuse(context.source, tree, problem + textMeant(tree));
}

function searchFor(signal: SignalName): string {
  return `a search for ${signal} returns ${signal === "traces" ? "spans" : "rows"}`;
}

/** `logs != error` compares with a metric, but is written by someone who means the text. */
function textMeant(tree: Expression): string {
  if (tree.kind !== "operation" || tree.right.kind !== "selector" || tree.right.of.kind !== "metric")
    return "";
  const [name] = tree.right.of.name.parts;
  return name?.kind === "characters" ? `; a text stands in quotes: "${name.text}"` : "";
}

function countedRows(tree: Aggregate, signal: SignalName, context: PlanContext): Selector {
  const { op, field, of, grouping } = tree;
  if (grouping !== null) {
    const problem = `${searchFor(signal)} and cannot group; leave out \`${grouping.kind} (…)\` or ask for a timeseries`;
    refuse(context.source, grouping, problem);
  }
  if (op !== "count" || field !== null || of.kind !== "selector") {
    refuse(
      context.source,
      tree,
      `${searchFor(signal)}; of all aggregations it takes count(${signal}{…}) alone`,
    );
  }
  return ofSignal(of, signal, context);
}

function ofSignal(tree: Selector, signal: SignalName, context: PlanContext): Selector {
  if (tree.of.kind === "signal" && tree.of.name === signal) return tree;
  const what = tree.of.kind === "signal" ? `\`${tree.of.name}\`` : "a metric";
  return refuse(context.source, tree, `a search for ${signal} selects \`${signal}{…}\`, not ${what}`);
}
