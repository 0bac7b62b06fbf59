import type { Scan } from "./scan-plan.ts";
import type { Constant, SeriesPlan } from "./series-plan.ts";

/** Whether a plan gives one series without labels, or none. */
export function isUnlabelled(plan: SeriesPlan | Constant, scans: readonly Scan[]): boolean {
  switch (plan.kind) {
    case "number":
      return true;
    case "scan": {
      const { groupBy } = scans[plan.scan]!;
      return Array.isArray(groupBy) && groupBy.length === 0;
    }
    case "fold":
      return plan.keep.kind === "by" && plan.keep.labels.length === 0;
    case "histogramQuantile":
      return keepsBoundsAlone(plan.of, scans);
    case "top":
    case "negation":
      return isUnlabelled(plan.of, scans);
    case "calculation":
      return isUnlabelled(plan.left, scans) && isUnlabelled(plan.right, scans);
  }
}

function keepsBoundsAlone(plan: SeriesPlan, scans: readonly Scan[]): boolean {
  if (plan.kind === "fold")
    return plan.keep.kind === "by" && plan.keep.labels.every((label) => label === "le");
  if (plan.kind !== "scan") return false;
  const { groupBy } = scans[plan.scan]!;
  return Array.isArray(groupBy) && groupBy.every(({ label }) => label === "le");
}
