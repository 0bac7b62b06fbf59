/**
 * Metrics of this process, and their Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

export type Labels = Readonly<Record<string, string>>;

export interface MetricSample {
  /** Appended to the metric's name, e.g. `_bucket`; "" for most. */
  suffix: string;
  labels: Labels;
  value: number;
}

interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples(): MetricSample[];
}

/**
 * All metrics of one server, in the order in which they were registered. Label values should come from a
 * bounded set: each is kept for ever, and beyond `labelSetsMax` of a counter they are counted together.
 */
export class Metrics {
  readonly #families: Family[] = [];

  /** Registers a counter that the caller adds to. */
  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#families.push({ name, type: "counter", help, samples: () => counter.samples() });
    return counter;
  }

  /** Registers a gauge; see `read`. */
  gauge(name: string, help: string, read: () => number | [Labels, number][]): void {
    this.read("gauge", name, help, read);
  }

  /** Registers a value that `read` supplies at each scrape: a number, or one number for each label set. */
  read(type: "counter" | "gauge", name: string, help: string, read: () => number | [Labels, number][]): void {
    const samples = () => {
      const value = read();
      if (typeof value === "number") return [{ suffix: "", labels: {}, value }];
      return value.map(([labels, one]) => ({ suffix: "", labels, value: one }));
    };
    this.#families.push({ name, type, help, samples });
  }

  /**
   * Registers a histogram. `bounds` are the upper bounds of its buckets, ascending, in the unit that the name ends
   * with.
   */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#families.push({ name, type: "histogram", help, samples: () => histogram.samples() });
    return histogram;
  }

  /** All metrics that have samples, in the Prometheus text format. */
  text(): string {
    return this.#families.map(familyText).join("");
  }
}

/** Label sets of one counter: those of rules and routes fit many times over. */
export const labelSetsMax = 10_000;

const noLabels: Labels = {};

/** A counter with a value for each label set; those that come when there are `labelSetsMax` count as `other`. */
export class Counter {
  readonly #values = new Map<string, { labels: Labels; value: number }>();

  add(amount = 1, labels: Labels = noLabels): void {
    const key = labels === noLabels ? "{}" : JSON.stringify(labels);
    const entry = this.#values.get(key);
    if (entry) entry.value += amount;
    else if (this.#values.size < labelSetsMax) this.#values.set(key, { labels, value: amount });
    else this.#addOther(amount, labels);
  }

  #addOther(amount: number, labels: Labels): void {
    const other = Object.fromEntries(Object.keys(labels).map((name) => [name, "other"]));
    const key = JSON.stringify(other);
    this.#values.set(key, { labels: other, value: (this.#values.get(key)?.value ?? 0) + amount });
  }

  samples(): MetricSample[] {
    if (this.#values.size === 0) return [];
    return Array.from(this.#values.values(), ({ labels, value }) => ({ suffix: "", labels, value }));
  }
}

/** Counts observed values in buckets. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const firstFit = this.#bounds.findIndex((bound) => value <= bound);
    const index = firstFit < 0 ? this.#bounds.length : firstFit;
    this.#counts[index] = this.#counts[index]! + 1;
    this.#sum += value;
  }

  /** The counts of buckets are cumulative; the last bucket, `+Inf`, counts all values. */
  samples(): MetricSample[] {
    const samples: MetricSample[] = [];
    let count = 0;
    for (const [i, n] of this.#counts.entries()) {
      count += n;
      const le = i < this.#bounds.length ? String(this.#bounds[i]) : "+Inf";
      samples.push({ suffix: "_bucket", labels: { le }, value: count });
    }
    samples.push({ suffix: "_sum", labels: {}, value: this.#sum });
    samples.push({ suffix: "_count", labels: {}, value: count });
    return samples;
  }
}

function familyText(family: Family): string {
  const samples = family.samples();
  if (samples.length === 0) return "";
  const lines = samples.map((s) => `${family.name}${s.suffix}${labelText(s.labels)} ${s.value}\n`);
  return `# HELP ${family.name} ${family.help}\n# TYPE ${family.name} ${family.type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
