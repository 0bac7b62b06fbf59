import { isUnlabelled, planTimeseries } from "../../query/index.ts";
import type { QueryShape } from "./evaluator.ts";

/** What a query's plan says before it runs. Throws a QueryError. */
export function shapeOf(query: string): QueryShape {
  const { series, scans } = planTimeseries(query);
  const selectors = scans.map((scan) =>
    scan.kind === "rows" ? [scan.signal, scan.steps] : [scan.metric, scan.steps],
  );
  return { unlabelled: isUnlabelled(series, scans), selector: JSON.stringify(selectors) };
}
