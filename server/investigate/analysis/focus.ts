/**
 * Investigations of chosen traces. Their calls are the incident. Groups of traces of the hour before, each as large, are
 * analysed as if each were an incident: what is found in them is noise.
 */

import type { HashColumn } from "../../../query/index.ts";
import { hasHash, hashKey } from "./hashes.ts";
import type { Invocations } from "./invocations.ts";
import { type Period, type Telemetry, type Timeline, usualGroupsMax } from "./telemetry.ts";

/** The groups take at most this share of the traces of the hour before; the other traces are the baseline of a group. */
const groupedShareMax = 0.3;

/**
 * Removes all traces but the chosen ones from the incident. Puts traces of the baseline that begin with the same
 * operations into groups, each with as many traces as were chosen. A group is a chunk of its own, numbered after the
 * incident.
 */
export function focusOn(
  invocations: Invocations,
  { spans, timeline }: Telemetry,
  focus: HashColumn,
): Invocations {
  const chosen = new Set<string>();
  for (let row = 0; row < focus.low.length; row++) if (hasHash(focus, row)) chosen.add(hashKey(focus, row));
  const traceOf = (invocation: number) => hashKey(spans.traces, invocations.first[invocation]!);
  const chunks = invocations.chunks.slice();
  const entries = new Set<number>();
  const shown = new Set<string>();
  for (let i = 0; i < invocations.count; i++) {
    if (chunks[i] !== timeline.chunks) continue;
    const trace = traceOf(i);
    if (!chosen.has(trace)) chunks[i] = -1;
    else {
      shown.add(trace);
      if (invocations.parents[i] === -1) entries.add(invocations.keyOf[i]!);
    }
  }
  const usual = new Set<string>();
  for (let i = 0; i < invocations.count; i++)
    if (isUsual(chunks[i]!, timeline) && invocations.parents[i] === -1 && entries.has(invocations.keyOf[i]!))
      usual.add(traceOf(i));
  const groups = groupTraces([...usual], shown.size);
  for (let i = 0; i < invocations.count; i++) {
    if (!isUsual(chunks[i]!, timeline)) continue;
    const group = groups.get(traceOf(i));
    if (group !== undefined) chunks[i] = timeline.chunks + 1 + group;
  }
  return { ...invocations, chunks };
}

const isUsual = (chunk: number, { chunks }: Timeline) => chunk !== -1 && chunk < chunks;

/** The group of each trace that is in one, spread evenly over all. */
function groupTraces(traces: readonly string[], size: number): Map<string, number> {
  const groups =
    size === 0 ? 0 : Math.min(usualGroupsMax, Math.floor((groupedShareMax * traces.length) / size));
  const taken = groups * size;
  const found = new Map<string, number>();
  for (let i = 0; i < taken; i++) found.set(traces[Math.floor((i * traces.length) / taken)]!, i % groups);
  return found;
}

/** Each group as if it were the incident. */
export function usualGroupsOf({ chunks, total }: Timeline, calls: Float64Array): Period[] {
  const all = Array.from({ length: total }, (_, chunk) => chunk).filter((chunk) => chunk !== chunks);
  return all
    .filter((chunk) => chunk > chunks && calls[chunk]! > 0)
    .map((group) => {
      return { incident: [group], baseline: all.filter((chunk) => chunk !== group), isFocused: true };
    });
}
