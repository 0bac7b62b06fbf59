/** What a query planned, and what each part of it read, found and took. */

import type { Scan, ScanRead } from "../plan/scan.ts";
import type { Constant, SeriesPlan } from "../plan/series-plan.ts";

/** A plan, what its scans read and what its nodes led to: the field `explain` of an answer over HTTP. */
export interface Explanation {
  /** Absent for a search, which returns rows. */
  series?: SeriesPlan;
  /**
   * One for each node of `series` but its numbers: a node, then what it is calculated from. Null where it was not needed.
   */
  nodes?: (NodeResult | null)[];
  reads: ScanRead[];
  scans: Scan[];
}

/** What a node of a plan led to. */
export interface NodeResult {
  series: number;
  points: number;
  /** Until its result was there, with the time of all nodes below it. */
  milliseconds: number;
}

/** The results of all nodes, in the order of `Explanation`. */
export function listNodes(
  plan: SeriesPlan | Constant,
  results: ReadonlyMap<SeriesPlan, NodeResult>,
): (NodeResult | null)[] {
  if (plan.kind === "number") return [];
  return [results.get(plan) ?? null, ...inputsOf(plan).flatMap((input) => listNodes(input, results))];
}

/** The nodes that a node is calculated from. */
export function inputsOf(plan: SeriesPlan | Constant): (SeriesPlan | Constant)[] {
  if (plan.kind === "calculation") return [plan.left, plan.right];
  return "of" in plan ? [plan.of] : [];
}
