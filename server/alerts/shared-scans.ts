/** One scan serves all queries that ask for it at about the same time. */
import type { Aggregated } from "../../engine/index.ts";
import type { SeriesStore } from "../../query/index.ts";
import type { Counter, Metrics } from "../metrics.ts";

/** Answers stay so long for those that ask a little later; the buckets in them have been complete for longer. */
const keptMs = 5_000;
const keptMax = 256;

type Limits = Parameters<SeriesStore["aggregate"]>[1];

export class SharedScans implements SeriesStore {
  readonly #store: SeriesStore;
  readonly #scans: Counter;
  readonly #kept = new Map<string, { answer: Promise<Aggregated>; untilMs: number }>();

  constructor(store: SeriesStore, metrics: Metrics) {
    this.#store = store;
    this.#scans = metrics.counter(
      "svc_alert_scans_total",
      "Scans of evaluations, by whether they were shared.",
    );
  }

  aggregate(
    query: Parameters<SeriesStore["aggregate"]>[0],
    limits?: Limits,
  ): ReturnType<SeriesStore["aggregate"]> {
    return this.#shared(["rows", query], () => this.#store.aggregate(query, limits));
  }

  aggregateSamples(
    query: Parameters<SeriesStore["aggregateSamples"]>[0],
    limits?: Limits,
  ): ReturnType<SeriesStore["aggregateSamples"]> {
    return this.#shared(["samples", query], () => this.#store.aggregateSamples(query, limits));
  }

  metricNames(...args: Parameters<SeriesStore["metricNames"]>): ReturnType<SeriesStore["metricNames"]> {
    return this.#store.metricNames(...args);
  }

  seriesLabels(...args: Parameters<SeriesStore["seriesLabels"]>): ReturnType<SeriesStore["seriesLabels"]> {
    return this.#store.seriesLabels(...args);
  }

  attributeKeys(...args: Parameters<SeriesStore["attributeKeys"]>): ReturnType<SeriesStore["attributeKeys"]> {
    return this.#store.attributeKeys(...args);
  }

  #shared<A extends Aggregated>(asked: unknown[], scan: () => Promise<A>): Promise<A> {
    const key = JSON.stringify(asked, (_, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
    const known = this.#kept.get(key);
    if (known !== undefined && known.untilMs > performance.now()) {
      this.#scans.add(1, { shared: "yes" });
      // Equal queries have answers of one kind.
      return known.answer as Promise<A>;
    }
    this.#scans.add(1, { shared: "no" });
    const answer = scan();
    this.#kept.delete(key);
    this.#kept.set(key, { answer, untilMs: performance.now() + keptMs });
    // A failure is nobody else's.
    answer.catch(() => this.#kept.delete(key));
    if (this.#kept.size > keptMax) this.#kept.delete(this.#kept.keys().next().value!);
    return answer;
  }
}
