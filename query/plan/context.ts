import type { Signal } from "../../engine/index.ts";
import { conditionsMax, patternLengthMax, patternLengthTotalMax } from "../limits.ts";
import { refuse, type Source } from "../text/source.ts";
import type { ScanList } from "./scan.ts";
import type { ExpectedName } from "./series-plan.ts";

/** What the planning of one query gathers and has at hand. */
export interface PlanContext {
  readonly source: Source;
  readonly variables: ReadonlyMap<string, string>;
  /** What the selector at hand selects from: it says what labels mean. */
  signal: Signal;
  /** Attributes that the query names and that rows must have been stored with to have any. */
  names: Set<string>;
  readonly warnings: string[];
  /** Names that the stages before this place extract; "any" once a stage extracts whatever it finds. */
  extracted: Set<string> | "any";
  conditions: number;
  patternLength: number;
}

export function createPlanContext(source: Source, variables: ReadonlyMap<string, string>): PlanContext {
  return {
    source,
    variables,
    signal: "logs",
    names: new Set(),
    warnings: [],
    extracted: new Set(),
    conditions: 0,
    patternLength: 0,
  };
}

/** Counts one condition on rows; `at` is its node. */
export function countCondition(context: PlanContext, at: object): void {
  context.conditions++;
  if (context.conditions > conditionsMax)
    refuse(context.source, at, `a query has at most ${conditionsMax} conditions`);
}

/** Counts the characters of one regular expression; `at` is its node. */
export function countRegexp(context: PlanContext, pattern: string, at: object): void {
  if (pattern.length > patternLengthMax) {
    refuse(context.source, at, `a regular expression has at most ${patternLengthMax} characters`);
  }
  context.patternLength += pattern.length;
  if (context.patternLength > patternLengthTotalMax) {
    const problem = `the regular expressions of a query have at most ${patternLengthTotalMax} characters together`;
    refuse(context.source, at, problem);
  }
}

/** Takes note that a stage extracts these names, so that they are not missed in the store. */
export function noteExtractedNames(names: Iterable<string>, context: PlanContext): void {
  if (context.extracted === "any") return;
  for (const name of names) {
    context.extracted.add(name);
    context.extracted.add(`${name}_extracted`);
  }
}

/** What the planning of a timeseries query gathers besides. */
export interface TimeseriesContext extends PlanContext {
  readonly scans: ScanList;
  readonly named: ExpectedName[];
}
