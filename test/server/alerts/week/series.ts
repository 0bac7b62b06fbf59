/** The points of the week, and when each arrives. */
import type { Random } from "../../../../fixtures/random.ts";
import { hour, minute, second, type WeekPlan, weekStartMs } from "./plan.ts";

export interface WeekSeries {
  labels: Record<string, string>;
  values: Float64Array;
  arrivedMs: Float64Array;
}

const leadMinutes = 60;

/** By query; a bucket of any width has the value of its first minute. */
export class WeekPoints {
  readonly of = new Map<string, WeekSeries[]>();

  constructor(random: Random, { queries, endMs, torn }: WeekPlan) {
    const minutes = (endMs - weekStartMs) / minute + 3 * leadMinutes;
    for (const query of queries) {
      const names = query.startsWith("plain") ? [{}] : ["s1", "s2", "s3"].map((name) => ({ name }));
      const all = names.slice(0, random.between(1, 3));
      this.of.set(
        query,
        all.map((labels) => anySeries(random, labels, minutes, torn)),
      );
    }
  }

  /** The value that a reader sees at a time; null where there is none, or none yet. */
  seenAt({ values, arrivedMs }: WeekSeries, bucketMs: number, nowMs: number): number | null {
    const place = (bucketMs - weekStartMs) / minute + leadMinutes;
    const value = values[place];
    return value === undefined || Number.isNaN(value) || arrivedMs[place]! > nowMs ? null : value;
  }
}

/** Quiet, in trouble or away, for stretches of random length. */
function anySeries(
  random: Random,
  labels: Record<string, string>,
  minutes: number,
  torn: WeekPlan["torn"],
): WeekSeries {
  const values = new Float64Array(minutes).fill(Number.NaN);
  const arrivedMs = new Float64Array(minutes);
  let mode = "quiet";
  for (let place = 0; place < minutes; place++) {
    if (random.oneIn(mode === "away for long" ? 1_800 : 15)) {
      const others = ["quiet", "quiet", "trouble", "flaky", "away"];
      mode = random.pick([...others, random.oneIn(6) ? "away for long" : "quiet"]);
    }
    if (mode.startsWith("away") || (mode === "flaky" && random.oneIn(2))) continue;
    const isHigh = mode === "trouble" || (mode === "flaky" && random.oneIn(2));
    values[place] = random.between(isHigh ? 6 : 0, isHigh ? 10 : 5);
    const endMs = weekStartMs + (place - leadMinutes + 1) * minute;
    const lateMs = random.oneIn(50) ? random.between(31 * second, random.pick([5 * minute, 8 * hour])) : 0;
    arrivedMs[place] = behindTears(torn, endMs + (lateMs === 0 ? random.below(30 * second) : lateMs));
  }
  return { labels, values, arrivedMs };
}

function behindTears(torn: WeekPlan["torn"], arrivedMs: number): number {
  const tear = torn.find(([fromMs, toMs]) => fromMs <= arrivedMs && arrivedMs <= toMs);
  return tear === undefined ? arrivedMs : tear[1] + second;
}
