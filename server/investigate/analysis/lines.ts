/** Lines that belong to no span: how often each template of a service is logged, compared with what is usual. */

import { medianOf, quantileOf, sorted } from "./statistics.ts";
import type { Period, Telemetry } from "./telemetry.ts";

/** A template of a service that is logged more often than usual. */
export interface LineChange {
  service: string;
  template: string;
  isError: boolean;
  /** In standard deviations. */
  surprise: number;
  /** Lines of the incident, and those that are usual in the same time. */
  lines: number;
  usual: number;
}

export interface ServiceLines {
  service: string;
  score: number;
  /** Those that differ most first. */
  changes: LineChange[];
}

const surpriseMin = 4;
/** More lines of the same kind come with more load: only so many times as many, beyond that, are odd. */
const timesMin = 2.5;
const linesMin = 3;
/** Warnings and errors say more than other lines. */
const otherWeight = 0.5;
const isErrorLevel = (level: string) => /^(?:error|fatal|critical|alert|emerg|severe|panic|warn)/.test(level);

/** Counts of one template of one service by chunk. */
interface Counts {
  service: string;
  template: string;
  isError: boolean;
  byChunk: Float64Array;
}

export function countLines({ logs, spans, timeline }: Telemetry): Counts[] {
  const found = new Map<number, Counts>();
  const { services, templates, levels } = logs;
  const width = templates.values.length;
  for (let row = 0; row < logs.rows; row++) {
    if (spans.table.find(logs.traces, logs.spans, row) !== -1) continue;
    const chunk = timeline.chunkOf(logs.timeNs[row]!);
    if (chunk === -1) continue;
    const key = services.codes[row]! * width + templates.codes[row]!;
    let own = found.get(key);
    if (own === undefined) {
      own = {
        service: services.values[services.codes[row]!]!,
        template: templates.values[templates.codes[row]!]!,
        isError: isErrorLevel(levels.values[levels.codes[row]!]!),
        byChunk: new Float64Array(timeline.total),
      };
      found.set(key, own);
    }
    own.byChunk[chunk]!++;
  }
  return [...found.values()];
}

/** `minutes`: the length of the incident. */
export function findLines(counts: readonly Counts[], period: Period, minutes: number): ServiceLines[] {
  const judged = counts.map((each) => ({ ...each, ...compare(each, period, minutes) }));
  // Where everything is logged more often, there is more to do.
  const load = Math.max(
    1,
    medianOf(judged.filter(({ usual }) => usual >= linesMin).map(({ lines, usual }) => lines / usual)) || 1,
  );
  const changes = judged.flatMap(({ byChunk: _, lines, usual: alone, ...of }): LineChange[] => {
    const usual = alone * load;
    if (lines < linesMin || lines < timesMin * usual) return [];
    const expected = usual + 0.5;
    const surprise = Math.sqrt(2 * Math.max(0, lines * Math.log(lines / expected) - (lines - expected)));
    return surprise < surpriseMin ? [] : [{ ...of, surprise, lines, usual }];
  });
  const weigh = ({ isError, surprise }: LineChange) => (isError ? 1 : otherWeight) * surprise;
  return [...Map.groupBy(changes, ({ service }) => service)]
    .map(([service, own]) => {
      own.sort((a, b) => weigh(b) - weigh(a));
      return { service, score: weigh(own[0]!), changes: own };
    })
    .sort((a, b) => b.score - a.score);
}

/** The usual number is a high one: what comes in bursts is no surprise. */
function compare({ byChunk }: Counts, { incident, baseline }: Period, minutes: number) {
  const lines = incident.reduce((sum, chunk) => sum + byChunk[chunk]!, 0);
  const before = sorted(baseline.map((chunk) => byChunk[chunk]!));
  return { lines, usual: quantileOf(before, 0.9) * minutes };
}
