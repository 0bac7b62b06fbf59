/** Who suffers: operations that fail more often, or take longer, than before. */

import type { Invocations } from "./invocations.ts";
import { quantileOf, sorted } from "./statistics.ts";
import type { Telemetry } from "./telemetry.ts";

export interface Affected {
  service: string;
  operation: string;
  /** Whether calls come from outside: from people, as far as one sees. */
  isEntry: boolean;
  calls: number;
  /** Shares of calls that fail. */
  errors: number;
  usualErrors: number;
  /** Milliseconds that nine of ten calls take at most. */
  p90: number;
  usualP90: number;
}

const callsMin = 5;
const errorsMore = 0.05;
const slowerBy = 1.5;
const slowerMs = 5;

interface Calls {
  errors: number;
  durations: number[];
}

/** Those that suffer most first, calls from outside before all others. */
export function findAffected({ spans, timeline }: Telemetry, invocations: Invocations): Affected[] {
  const { count, first, keyOf, keys, chunks, parents, isUnanswered } = invocations;
  const groups = new Map<string, { isEntry: boolean; key: number; during: Calls; before: Calls }>();
  for (let i = 0; i < count; i++) {
    const { service, operation } = keys[keyOf[i]!]!;
    const row = first[i]!;
    if (chunks[i] === -1 || isUnanswered[i] === 1 || Number.isNaN(spans.durationsMs[row]!)) continue;
    const isEntry = parents[i] === -1;
    const text = JSON.stringify([service, operation, isEntry]);
    let group = groups.get(text);
    if (group === undefined) {
      const none = () => ({ errors: 0, durations: [] });
      group = { isEntry, key: keyOf[i]!, during: none(), before: none() };
      groups.set(text, group);
    }
    const calls = chunks[i] === timeline.chunks ? group.during : group.before;
    calls.durations.push(spans.durationsMs[row]!);
    if (spans.statuses.values[spans.statuses.codes[row]!]!.toLowerCase() === "error") calls.errors++;
  }
  return [...groups.values()]
    .filter(({ during, before }) => Math.min(during.durations.length, before.durations.length) >= callsMin)
    .map(({ isEntry, key, during, before }): Affected => {
      const { service, operation } = keys[key]!;
      return {
        ...{ service, operation, isEntry, calls: during.durations.length },
        ...{ errors: errorShare(during), usualErrors: errorShare(before) },
        ...{ p90: p90Of(during), usualP90: p90Of(before) },
      };
    })
    .filter(isWorse)
    .sort((a, b) => Number(b.isEntry) - Number(a.isEntry) || harmOf(b) - harmOf(a));
}

const errorShare = ({ errors, durations }: Calls) => errors / durations.length;
const p90Of = ({ durations }: Calls) => quantileOf(sorted(durations), 0.9);

function isWorse({ errors, usualErrors, p90, usualP90 }: Affected): boolean {
  return errors - usualErrors >= errorsMore || (p90 >= usualP90 * slowerBy && p90 - usualP90 >= slowerMs);
}

function harmOf({ calls, errors, usualErrors, p90, usualP90 }: Affected): number {
  return (
    calls * (Math.max(0, errors - usualErrors) * 10 + Math.max(0, Math.log(p90 / Math.max(1, usualP90))))
  );
}
