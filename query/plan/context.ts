import type { RowSignal, Signal } from "../../engine/index.ts";
import { conditionsMax, regexpLengthMax, regexpLengthTotalMax } from "../limits.ts";
import { refuse, type Source } from "../text/source.ts";
import type { ScanList } from "./scan.ts";
import type { ExpectedName } from "./series-plan.ts";

/** State of the planning of one query. */
export interface PlanContext {
  readonly source: Source;
  /** Values of variables such as `$name`, by name without the `$`. */
  readonly variables: ReadonlyMap<string, string>;
  /** The signal of the selector that is being planned. It decides which labels are columns. */
  signal: Signal;
  /**
   * Attributes that the query reads and that no earlier stage extracts. Rows have these attributes only if they were
   * stored with them.
   */
  names: Set<string>;
  /**
   * Names that the stages planned so far extract; "any" after a stage that extracts every name it finds (json, logfmt).
   */
  extracted: Set<string> | "any";
  /**
   * Signals that the selector has been joined with so far, and which labels of the joined row the query names: for
   * `traces.name` the label `name` of `traces`.
   */
  joined: Map<RowSignal, Set<string>>;
  /** Labels that stages calculate as numbers. Rows cannot be grouped or joined by them. */
  calculated: Set<string>;
  /** Labels whose texts are numbers of milliseconds: they compare with durations. */
  milliseconds: Set<string>;
  /** Number of conditions in the query so far. */
  conditions: number;
  /** Number of characters of all regular expressions in the query so far. */
  regexpLength: number;
}

/** Values of the variables of a query, by name. */
export type VariableValues = Readonly<Record<string, string>>;

export function createPlanContext(source: Source, variables: VariableValues = {}): PlanContext {
  return {
    source,
    variables: new Map(Object.entries(variables)),
    signal: "logs",
    names: new Set(),
    extracted: new Set(),
    joined: new Map(),
    calculated: new Set(),
    milliseconds: new Set(),
    conditions: 0,
    regexpLength: 0,
  };
}

/** Counts one condition on rows. `at` is the node of the condition. Throws a QueryError above the limit. */
export function countCondition(context: PlanContext, at: object): void {
  context.conditions++;
  if (context.conditions > conditionsMax)
    refuse(context.source, at, `a query has at most ${conditionsMax} conditions`);
}

/** Counts the characters of one regular expression, whose node is `at`. Throws a QueryError above the limits. */
export function countRegexp(context: PlanContext, pattern: string, at: object): void {
  if (pattern.length > regexpLengthMax) {
    refuse(context.source, at, `a regular expression has at most ${regexpLengthMax} characters`);
  }
  context.regexpLength += pattern.length;
  if (context.regexpLength > regexpLengthTotalMax) {
    const problem = `the regular expressions of a query have at most ${regexpLengthTotalMax} characters together`;
    refuse(context.source, at, problem);
  }
}

/**
 * Records the names that a stage extracts. Records each also with the suffix `_extracted`, which it gets where the row
 * was stored with that name. Later stages may read these names without a warning that no row has them.
 */
export function noteExtractedNames(names: Iterable<string>, context: PlanContext): void {
  if (context.extracted === "any") return;
  for (const name of names) {
    context.extracted.add(name);
    context.extracted.add(`${name}_extracted`);
  }
}

/** State of the planning of one timeseries query. */
export interface TimeseriesContext extends PlanContext {
  readonly scans: ScanList;
  /** Labels and metrics that the scans planned so far expect the store to have. */
  readonly expectedNames: ExpectedName[];
}
