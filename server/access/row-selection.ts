/** The rows that a resource decides on, as far as the resource itself says: those that an alert reads, for example. */

import { type Field, type Filter, isSeverityRange, type Signal } from "../../engine/index.ts";
import {
  fieldOf,
  type PlanStep,
  planTimeseries,
  QueryError,
  type Scan,
  type SeriesPlan,
  type TimeseriesPlan,
} from "../../query/index.ts";
import type { Alert } from "../model/alert.ts";
import { environmentKeys } from "../model/exclusion.ts";
import type { IngestionRule } from "../model/ingestion-rule.ts";
import { ruleSignalOf } from "../model/rule-signal.ts";
import { filterSteps } from "./filtered-store.ts";
import { addFact, collectFacts, type Facts } from "./row-facts.ts";

/** Rows of a signal; all of them have the facts. */
export interface RowSelection {
  signal: Signal;
  facts: Facts;
}

/** Values that labels of an instance have, by the label. */
export type LabelValues = ReadonlyMap<string, readonly string[]>;

/** The labels of one instance. */
export function labelValues(labels: Readonly<Record<string, string>>): LabelValues {
  return new Map(Object.entries(labels).map(([label, value]) => [label, [value]]));
}

/** Plans of stored alerts, which stay the same objects until they are changed. Null where a query cannot be planned. */
const plans = new WeakMap<Alert, TimeseriesPlan | null>();

/**
 * The rows behind the instances of an alert that have one of these values in each of these labels; behind all instances
 * where there are none. `readable` is the row-level filter of whoever saved the alert. Undefined where the query cannot
 * be planned any more.
 */
export function alertRows(
  alert: Alert,
  readable: (signal: Signal) => Filter,
  labels: LabelValues,
): RowSelection[] | undefined {
  const plan = planOf(alert);
  if (plan === null) return undefined;
  const passed = passesLabels(plan.series) ? labels : new Map<string, string[]>();
  return plan.scans.flatMap((scan) => {
    const signal = scan.kind === "rows" ? scan.signal : "metrics";
    let facts = collectFacts(filterSteps(readable(signal), scan.steps));
    for (const [label, values] of passed) {
      const field = groupedField(scan, label);
      if (field !== undefined) facts = addFact(facts, field, values);
    }
    return [{ signal, facts }, ...joinedRows(scan.steps, readable)];
  });
}

/** The rows that steps join with their own. */
function joinedRows(steps: readonly PlanStep[], readable: (signal: Signal) => Filter): RowSelection[] {
  return steps.flatMap((step) => {
    if (step.kind !== "join") return [];
    const facts = collectFacts(filterSteps(readable(step.signal), step.steps));
    return [{ signal: step.signal, facts }, ...joinedRows(step.steps, readable)];
  });
}

function planOf(alert: Alert): TimeseriesPlan | null {
  const known = plans.get(alert);
  if (known !== undefined) return known;
  let plan: TimeseriesPlan | null = null;
  try {
    plan = planTimeseries(alert.timeseries.expression.svcQLTimeseries.query);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
  }
  plans.set(alert, plan);
  return plan;
}

/** Whether a label of a result is a label of every series that the result is made of. Operands have labels of their own. */
function passesLabels(plan: SeriesPlan): boolean {
  if (plan.kind === "scan" || plan.kind === "window") return true;
  if (plan.kind === "absent" || plan.kind === "relabel") return false;
  if (plan.kind !== "calculation") return passesLabels(plan.of);
  const operands = [plan.left, plan.right].filter((side) => side.kind !== "number");
  return operands.length === 1 && passesLabels(operands[0]!);
}

/** The stored field that a scan groups by under this label. What a query extracts from a message is none. */
function groupedField({ groupBy, steps }: Scan, label: string): Field | undefined {
  if (!Array.isArray(groupBy) || steps.some(({ kind }) => kind !== "filter")) return undefined;
  return groupBy.find((each) => each.label === label)?.field;
}

/** The rows that each of an ingestion rule's `rules` leaves out. */
export function excludedRows({ cluster, rules }: IngestionRule): RowSelection[][] {
  return rules.map(({ signals, match }) =>
    signalsOf(signals).flatMap((signal) => {
      let facts: Facts = new Map();
      for (const { key, operator, values } of match?.matchExpressions ?? []) {
        const field = excludedField(key, signal);
        // What a pattern matches is not looked into.
        if (operator === "In" && field !== undefined)
          facts = addFact(facts, comparedAs(field, values), values);
      }
      if (cluster === undefined) return [{ signal, facts }];
      return environmentKeys.map((key) => ({
        signal,
        facts: addFact(facts, { kind: "attribute", key }, [cluster]),
      }));
    }),
  );
}

function signalsOf(ruleSignals: readonly string[]): Signal[] {
  const all = Object.keys(ruleSignalOf) as Signal[];
  return all.filter((signal) => ruleSignals.includes(ruleSignalOf[signal]));
}

/** The field whose texts the rows have: of levels their ranges, where a value is the name of one. */
function comparedAs(field: Field, values: readonly string[]): Field {
  return field.kind === "level" && values.some(isSeverityRange) ? { kind: "level", asRange: true } : field;
}

/** The field that a key of an ingestion rule tests, as row-level filters name it; undefined for the name of a metric. */
function excludedField(key: string, signal: Signal): Field | undefined {
  if (signal === "metrics" && key === "__name__") return undefined;
  const field = fieldOf(key, signal);
  return field.kind === "level" || field.kind === "message" ? field : { kind: "attribute", key };
}
