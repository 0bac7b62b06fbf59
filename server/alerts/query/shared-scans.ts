/** Scans of evaluations: equal ones run once, and those that differ only in the texts of some fields run as one. */
import { type AggregateQuery, type AggregateResult, Failure } from "../../../engine/index.ts";
import type { SearchableStore } from "../../access/searchable.ts";
import { Semaphore } from "../../limits/semaphore.ts";
import type { Counter, Metrics } from "../../metrics/metrics.ts";
import { familyMin, scansInFlightMax } from "../limits.ts";
import { answersOf, type FamilyScan, familyQuery, scanKeyOf } from "./scan-family.ts";

/** Answers stay so long for those that ask a little later; the buckets in them have been complete for longer. */
const recentMs = 5_000;
const recentMax = 4_096;

type Limits = Parameters<SearchableStore["aggregate"]>[1];
type SampleQuery = Parameters<SearchableStore["aggregateSamples"]>[0];

interface Waiting {
  query: AggregateQuery;
  limits: Limits;
  member: FamilyScan;
  resolve: (answer: AggregateResult | Promise<AggregateResult>) => void;
}

export class SharedScans implements SearchableStore {
  readonly #store: SearchableStore;
  readonly #scans: Counter;
  readonly #scanning = new Semaphore(scansInFlightMax);
  readonly #recent = new Map<string, { answer: Promise<AggregateResult>; untilMs: number }>();
  /** Ends the scans of many, which nobody's giving up ends. */
  readonly #ending = new AbortController();
  #waiting: Waiting[] = [];

  constructor(store: SearchableStore, metrics: Metrics) {
    this.#store = store;
    this.#scans = metrics.counter(
      "svc_alert_scans_total",
      "Scans that evaluations asked for: run alone, shared with an equal one, merged with others into one.",
    );
  }

  /** The server is stopping: scans that run for many are given up; each other one has whoever asked for it. */
  end(): void {
    this.#ending.abort();
  }

  aggregate(query: AggregateQuery, limits?: Limits): Promise<AggregateResult> {
    return this.#shared(["rows", query], () => {
      const member = scanKeyOf(query);
      return member === undefined ? this.#alone(query, limits) : this.#together(query, limits, member);
    });
  }

  aggregateSamples(query: SampleQuery, limits?: Limits): ReturnType<SearchableStore["aggregateSamples"]> {
    return this.#shared(["samples", query], () => {
      this.#scans.add(1, { run: "alone" });
      return this.#scanning.run(() => this.#store.aggregateSamples(query, limits));
    });
  }

  search(...args: Parameters<SearchableStore["search"]>): ReturnType<SearchableStore["search"]> {
    return this.#store.search(...args);
  }

  countFields(
    ...args: Parameters<SearchableStore["countFields"]>
  ): ReturnType<SearchableStore["countFields"]> {
    return this.#store.countFields(...args);
  }

  metricNames(
    ...args: Parameters<SearchableStore["metricNames"]>
  ): ReturnType<SearchableStore["metricNames"]> {
    return this.#store.metricNames(...args);
  }

  seriesLabels(
    ...args: Parameters<SearchableStore["seriesLabels"]>
  ): ReturnType<SearchableStore["seriesLabels"]> {
    return this.#store.seriesLabels(...args);
  }

  attributeKeys(
    ...args: Parameters<SearchableStore["attributeKeys"]>
  ): ReturnType<SearchableStore["attributeKeys"]> {
    return this.#store.attributeKeys(...args);
  }

  #alone(query: AggregateQuery, limits: Limits): Promise<AggregateResult> {
    this.#scans.add(1, { run: "alone" });
    return this.#scanning.run(() => this.#store.aggregate(query, limits));
  }

  /** Waits for the others that are asked for in the same moment. */
  #together(query: AggregateQuery, limits: Limits, member: FamilyScan): Promise<AggregateResult> {
    if (this.#waiting.length === 0) setImmediate(() => this.#runWaiting());
    return new Promise((resolve) => this.#waiting.push({ query, limits, member, resolve }));
  }

  #runWaiting(): void {
    const families = Map.groupBy(this.#waiting.splice(0), ({ member: { family } }) => family);
    for (const family of families.values()) {
      if (family.length < familyMin) this.#runEach(family);
      else void this.#runFamily(family);
    }
  }

  #runEach(waiting: readonly Waiting[]): void {
    for (const { query, limits, resolve } of waiting) resolve(this.#alone(query, limits));
  }

  async #runFamily(family: readonly Waiting[]): Promise<void> {
    const { query, limits, member } = family[0]!;
    // Nobody's giving up ends the scan of all.
    const others = { ...limits, abort: this.#ending.signal };
    const members = family.map((each) => each.member);
    try {
      const whole = await this.#scanning.run(() => this.#store.aggregate(familyQuery(query, member), others));
      const answers = answersOf(whole, members, query.groupBy.length);
      this.#scans.add(1, { run: "alone" });
      this.#scans.add(family.length - 1, { run: "merged" });
      for (const [i, { resolve }] of family.entries()) resolve(answers[i]!);
    } catch (error) {
      // Together they may have too many groups; what else fails, fails for each by itself.
      const isTooMuch = error instanceof Failure && error.kind === "limit";
      if (isTooMuch) this.#runEach(family);
      else for (const { resolve } of family) resolve(Promise.reject(error as Error));
    }
  }

  #shared<A extends AggregateResult>(asked: unknown[], scan: () => Promise<A>): Promise<A> {
    const key = JSON.stringify(asked, (_, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
    const known = this.#recent.get(key);
    if (known !== undefined && known.untilMs > performance.now()) {
      this.#scans.add(1, { run: "shared" });
      // Equal queries have answers of one kind.
      return known.answer as Promise<A>;
    }
    const answer = scan();
    this.#recent.delete(key);
    this.#recent.set(key, { answer, untilMs: performance.now() + recentMs });
    // A failure is nobody else's.
    answer.catch(() => this.#recent.delete(key));
    if (this.#recent.size > recentMax) this.#recent.delete(this.#recent.keys().next().value!);
    return answer;
  }
}
