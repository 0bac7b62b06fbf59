/** What an investigation looked at and found as usual. */

import type { MetricClass } from "../analysis/metric-changes.ts";
import type { Finding } from "./finding.ts";

const scoreMin = 0.05;

/** One sentence for each thing that was looked at, and for each that could not be. */
export function listNormal({ analysis, read }: Finding): string[] {
  const strong = analysis.suspects.filter(({ score }) => score >= scoreMin);
  const { calls } = analysis.calibration;
  const differs = (name: MetricClass) =>
    strong.some(({ metrics }) => metrics.some((each) => each.class === name));
  const found: string[] = [];
  if (read.spans === 0)
    found.push(
      calls === 0
        ? "no spans: calls between services could not be looked at"
        : "no spans: calls between services are guessed from the logs of traces",
    );
  else if (calls === 0) found.push("no spans in the window: its calls could not be looked at");
  else {
    if (strong.every(({ behaviour }) => behaviour === undefined))
      found.push("services log and call as before");
    if (strong.every(({ latency }) => latency === undefined))
      found.push("no operation takes longer by itself");
    if (analysis.affected.length === 0)
      found.push("no operation fails more often or takes longer as a whole");
  }
  if (read.logs === 0) found.push("no logs: what services say could not be looked at");
  if (read.series === 0) found.push("no metrics: CPU and memory could not be looked at");
  else {
    if (!differs("cpu")) found.push("the CPU of pods and nodes is as before");
    if (!differs("memory")) found.push("the memory of pods and nodes is as before");
  }
  if (read.resources === 0) found.push("no Kubernetes objects: rollouts and restarts could not be looked at");
  else if (analysis.changes.length === 0)
    found.push("no rollout, restart or warning in the window or the half hour before");
  return found;
}
