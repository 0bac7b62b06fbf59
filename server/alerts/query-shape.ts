import { isUnlabelled, planTimeseries } from "../../query/index.ts";
import type { QueryShape } from "./evaluator.ts";

/** What a query's plan says before it runs. Throws a QueryError. */
export function shapeOf(query: string): QueryShape {
  const { series, scans } = planTimeseries(query);
  const selectors = scans.map((scan) =>
    scan.kind === "rows" ? [scan.signal, scan.steps] : [scan.metric, scan.steps],
  );
  // Queries that differ in the texts of labels alone are evaluated at the same time: one scan reads for all of them.
  const withoutTexts = (key: string, value: unknown) => (key === "value" ? undefined : value);
  return { unlabelled: isUnlabelled(series, scans), selector: JSON.stringify(selectors, withoutTexts) };
}
