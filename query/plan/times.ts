import { durationMax } from "../limits.ts";
import { refuse } from "../text/source.ts";
import { type Duration, parseDurationSeconds } from "../tree/duration.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import type { Variable } from "../tree/variable.ts";
import type { PlanContext } from "./context.ts";
import type { ScanTimes } from "./scan.ts";
import { resolveVariable } from "./variables.ts";

/** The window and the offset of a selector. Throws a QueryError where one is not some whole milliseconds. */
export function resolveTimes({ window, offset }: TelemetrySelector, context: PlanContext): ScanTimes {
  return {
    ...(window === undefined ? {} : { windowSeconds: resolveSeconds(window, "a window", context) }),
    ...(offset === undefined ? {} : { offsetSeconds: resolveSeconds(offset, "an offset", context) }),
  };
}

/** The seconds of a duration. `what` it is stands in the error. Throws a QueryError where it is none, or out of bounds. */
export function resolveSeconds(node: Duration | Variable, what: string, context: PlanContext): number {
  const text = node.kind === "duration" ? node.text : resolveVariable(node, context, node);
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined) {
    const problem = `${JSON.stringify(text)} is not a duration; durations are written as in 90s, 5m or 1h30m`;
    return refuse(context.source, node, problem);
  }
  if (seconds > 0 && seconds <= durationMax) return seconds;
  const problem = `${what} is from 1ms to ${durationMax / 31_536_000}y, not ${text}`;
  return refuse(context.source, node, problem);
}

/** Throws a QueryError for a selector with a window or an offset, which a search for rows does not take. */
export function refuseTimes({ window, offset }: TelemetrySelector, context: PlanContext): void {
  const node = window ?? offset;
  if (node === undefined) return;
  const what = window === undefined ? "`offset`" : "a window in [ ]";
  refuse(context.source, node, `${what} is of timeseries; the range of a search stands beside the query`);
}
