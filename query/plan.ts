import type { Step } from "../engine/index.ts";
import type { Aggregate } from "./aggregate.ts";
import { type PlanContext, planContext } from "./context.ts";
import type { Expression } from "./expression.ts";
import { parseLogsQuery } from "./logs-query.ts";
import { readSource } from "./parse.ts";
import { type Selector, selectorSteps } from "./selector.ts";
import { simplifySteps } from "./simplify.ts";
import { refuse } from "./source.ts";
import { termsFilter } from "./terms.ts";

export interface PlanOptions {
  /** Values for the `$name`s of the query, by name. */
  variables?: Readonly<Record<string, string>>;
}

/** What a search for logs does, as plain data. */
export interface LogsPlan {
  signal: "logs";
  steps: Step[];
  /** Attributes that the query reads and no stage of it extracts: a row has them only if it was stored with them. */
  names: string[];
  /** Sentences for people about what the query may not mean. */
  warnings: string[];
}

/** Plans a search for logs, structured or in terms. Throws a QueryError. */
export function planLogs(text: string, options: PlanOptions = {}): LogsPlan {
  const source = readSource(text);
  const { tree, warnings } = parseLogsQuery(source);
  const context = planContext(source, new Map(Object.entries(options.variables ?? {})));
  const steps: Step[] =
    tree.kind === "terms"
      ? [{ kind: "filter", filter: termsFilter(tree, context) }]
      : selectorSteps(selectedRows(tree, context), context);
  return { signal: "logs", steps: simplifySteps(steps), names: [...context.names], warnings };
}

/** The selector of logs that an expression is, or whose rows it counts. */
function selectedRows(tree: Expression, context: PlanContext): Selector {
  if (tree.kind === "selector") return ofLogs(tree, context);
  if (tree.kind === "aggregate") return countedRows(tree, context);
  const calculation = tree.kind === "operation" ? `\`${tree.op}\` calculates` : "this calculates";
  const problem = `a search for logs returns rows; ${calculation} with series and belongs to a timeseries`;
  return refuse(context.source, tree, problem + textMeant(tree));
}

/** `logs != error` compares with a metric, but is written by someone who means the text. */
function textMeant(tree: Expression): string {
  if (tree.kind !== "operation" || tree.right.kind !== "selector" || tree.right.of.kind !== "metric")
    return "";
  const [name] = tree.right.of.name.parts;
  return name?.kind === "characters" ? `; a text stands in quotes: "${name.text}"` : "";
}

function countedRows(tree: Aggregate, context: PlanContext): Selector {
  const { op, field, of, grouping } = tree;
  if (grouping !== null) {
    const problem = `a search for logs returns rows and cannot group; leave out \`${grouping.kind} (…)\` or ask for a timeseries`;
    refuse(context.source, grouping, problem);
  }
  if (op !== "count" || field !== null || of.kind !== "selector") {
    refuse(
      context.source,
      tree,
      "a search for logs returns rows; of all aggregations it takes count(logs{…}) alone",
    );
  }
  return ofLogs(of, context);
}

function ofLogs(tree: Selector, context: PlanContext): Selector {
  if (tree.of.kind === "signal" && tree.of.name === "logs") return tree;
  const what = tree.of.kind === "signal" ? `\`${tree.of.name}\`` : "a metric";
  return refuse(context.source, tree, `a search for logs selects \`logs{…}\`, not ${what}`);
}
