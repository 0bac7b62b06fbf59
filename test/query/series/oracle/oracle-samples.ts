/** Random samples of a few metrics, from a seed. No sample lies on a whole tenth of a second, where windows may end. */
import type { Sample } from "../../../../engine/index.ts";
import { Random } from "../../../../fixtures/random.ts";

export const dataStartMs = Date.UTC(2025, 10, 19, 12);
export const queriesStartMs = dataStartMs + 75 * 60_000;
const dataEndMs = queriesStartMs + 60 * 60_000;

interface OracleMetric {
  name: string;
  type: Sample["type"];
  everyMs: number;
  fromMs: number;
  toMs: number;
  labels: Record<string, string>[];
  /** The next value. */
  next: (value: number, random: () => number) => number;
}

const pods = [
  { pod: "a", zone: "n" },
  { pod: "a", zone: "s" },
  { pod: "b", zone: "n" },
  { pod: "c", zone: "w" },
  { pod: "d" },
];
const whole = { fromMs: dataStartMs, toMs: dataEndMs };
/** Never 0: what divides by zero has no point here, and is infinite in Prometheus (`What differs`). */
const gaugeStep = (value: number, random: () => number) =>
  value + Math.round((random() - 0.5) * 40) / 4 || 0.25;
const counterStep = (value: number, random: () => number) => value + Math.floor(random() * 9);

const metrics: OracleMetric[] = [
  { ...{ name: "mem", type: "gauge", everyMs: 15_000 }, ...whole, labels: pods, next: gaugeStep },
  { ...{ name: "temp", type: "unknown", everyMs: 40_000 }, ...whole, labels: pods, next: gaugeStep },
  {
    ...{ name: "steady_total", type: "unknown", everyMs: 20_000 },
    ...whole,
    labels: pods,
    next: counterStep,
  },
  {
    ...{ name: "reset_total", type: "counter", everyMs: 30_000, labels: pods },
    ...whole,
    next: (value, random) => (random() < 0.08 ? 0 : counterStep(value, random)),
  },
  {
    ...{ name: "fast", type: "gauge", everyMs: 300, labels: pods.slice(0, 2), next: gaugeStep },
    ...{ fromMs: queriesStartMs - 30_000, toMs: queriesStartMs + 120_000 },
  },
  {
    ...{ name: "lat_bucket", type: "counter", everyMs: 60_000, ...whole, next: counterStep },
    labels: ["a", "b"].flatMap((pod) => ["0.1", "0.5", "1", "+Inf"].map((le) => ({ pod, le }))),
  },
];

export function makeSamples(seed: number): Sample[] {
  const source = new Random(seed);
  const random = () => source.next() / 2 ** 32;
  return metrics.flatMap(({ name, type, everyMs, fromMs, toMs, labels, next }) =>
    labels.flatMap((own): Sample[] => {
      const samples: Sample[] = [];
      let value = Math.round(random() * 400) / 4;
      if (type !== "gauge") value = Math.floor(value);
      for (let ms = fromMs; ms < toMs; ms += everyMs * (0.7 + random() * 0.6)) {
        value = next(value, random);
        // Some series are silent for up to twelve minutes.
        if (everyMs > 1_000 && random() < 0.01) ms += random() * 720_000;
        const time = BigInt(Math.floor(ms / 100) * 100 + 37);
        samples.push({ timeNs: time * 1_000_000n, name, type, unit: "", labels: own, value });
      }
      return samples;
    }),
  );
}
