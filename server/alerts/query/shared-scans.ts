/**
 * Shares scans between evaluations: equal scans run once, the scans of a family run as one, and those of a window read
 * only the buckets that the evaluation before has not read.
 */
import {
  type AggregateQuery,
  type AggregateResult,
  Failure,
  type Signal,
  type Step,
  type Store,
} from "../../../engine/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { Counter, Metrics } from "../../metrics/metrics.ts";
import { Semaphore } from "../../throttle/semaphore.ts";
import { familyMin, scansInFlightMax } from "../limits.ts";
import { type ArrivalTimes, KnownBuckets } from "./known-buckets.ts";
import { type FamilyScan, makeFamilyQuery, scanKeyOf, splitAnswer } from "./scan-family.ts";

/** How long the result of a scan also answers equal scans that come later, as long as no row comes that it would read. */
const recentMs = 5_000;
/** Results that are kept at once to answer equal scans. */
const recentMax = 4_096;

type Limits = Parameters<SearchableStore["aggregate"]>[1];
type SampleQuery = Parameters<SearchableStore["aggregateSamples"]>[0];

function isOfArrivals(step: Step): boolean {
  return step.kind === "filter" && step.filter.kind === "arrived";
}

/** A scan that waits for others of its family. */
interface WaitingScan {
  query: AggregateQuery;
  limits: Limits;
  member: FamilyScan;
  resolve: (answer: AggregateResult | Promise<AggregateResult>) => void;
}

interface RecentScan {
  answer: Promise<AggregateResult>;
  untilMs: number;
  /** Rows that arrived after it may not be in the answer. */
  position: number;
}

export class SharedScans implements SearchableStore {
  readonly #store: SearchableStore;
  readonly #scans: Counter;
  readonly #scanning = new Semaphore(scansInFlightMax);
  readonly #recent = new Map<string, RecentScan>();
  /** Aborts the scans that run for a whole family, which no single caller can abort. */
  readonly #familyAbort = new AbortController();
  readonly #arrivals: ArrivalTimes;
  readonly #known: KnownBuckets;
  #waiting: WaitingScan[] = [];

  readonly search: SearchableStore["search"] = (...args) => this.#store.search(...args);
  readonly countFields: SearchableStore["countFields"] = (...args) => this.#store.countFields(...args);
  readonly countValues: SearchableStore["countValues"] = (...args) => this.#store.countValues(...args);
  readonly countTemplates: SearchableStore["countTemplates"] = (...args) =>
    this.#store.countTemplates(...args);
  readonly readColumns: SearchableStore["readColumns"] = (...args) => this.#store.readColumns(...args);
  readonly metricNames: SearchableStore["metricNames"] = (...args) => this.#store.metricNames(...args);
  readonly seriesLabels: SearchableStore["seriesLabels"] = (...args) => this.#store.seriesLabels(...args);
  readonly attributeKeys: SearchableStore["attributeKeys"] = (...args) => this.#store.attributeKeys(...args);

  constructor(store: SearchableStore & Pick<Store, "arrivalMax" | "oldestArrivedMs">, metrics: Metrics) {
    this.#store = store;
    this.#arrivals = {
      position: () => store.arrivalMax,
      oldestMs: (signal, position) => store.oldestArrivedMs(signal, position),
    };
    this.#known = new KnownBuckets(this.#arrivals);
    this.#scans = metrics.counter(
      "svc_alert_scans_total",
      "Scans that evaluations asked for: run alone, shared with an equal one, merged with others into one.",
    );
  }

  /** Aborts the scans that run for a whole family, as the server stops. Other scans are aborted by their callers. */
  abort(): void {
    this.#familyAbort.abort();
  }

  aggregate(query: AggregateQuery, limits?: Limits): Promise<AggregateResult> {
    // Rows that a stage over several rows has found differ from query to query.
    if (query.steps.some(isOfArrivals)) return this.#runAlone(query, limits);
    return this.#shareRecent("rows", query.signal, query, () => {
      return this.#known.read(query.signal, query, (scan) => {
        const member = scanKeyOf(scan);
        return member === undefined
          ? this.#runAlone(scan, limits)
          : this.#waitForFamily(scan, limits, member);
      });
    });
  }

  aggregateSamples(query: SampleQuery, limits?: Limits): ReturnType<SearchableStore["aggregateSamples"]> {
    return this.#shareRecent("samples", "metrics", query, () => {
      return this.#known.read("metrics", query, (scan) => {
        this.#scans.add(1, { run: "alone" });
        return this.#scanning.run(() => this.#store.aggregateSamples(scan, limits));
      });
    });
  }

  #runAlone(query: AggregateQuery, limits: Limits): Promise<AggregateResult> {
    this.#scans.add(1, { run: "alone" });
    return this.#scanning.run(() => this.#store.aggregate(query, limits));
  }

  /** Waits for other scans of the family until the end of this turn of the event loop. */
  #waitForFamily(query: AggregateQuery, limits: Limits, member: FamilyScan): Promise<AggregateResult> {
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

  #runEach(waiting: readonly WaitingScan[]): void {
    for (const { query, limits, resolve } of waiting) resolve(this.#runAlone(query, limits));
  }

  async #runFamily(family: readonly WaitingScan[]): Promise<void> {
    const { query, limits, member } = family[0]!;
    // A caller that gives up must not abort the scan of the others.
    const familyLimits = { ...limits, abort: this.#familyAbort.signal };
    const familyQuery = makeFamilyQuery(query, member);
    const members = family.map((each) => each.member);
    try {
      const answer = await this.#scanning.run(() => this.#store.aggregate(familyQuery, familyLimits));
      const answers = splitAnswer(answer, members, query.groupBy.length);
      this.#scans.add(1, { run: "alone" });
      this.#scans.add(family.length - 1, { run: "merged" });
      for (const [i, { resolve }] of family.entries()) resolve(answers[i]!);
    } catch (error) {
      // The merged scan may exceed a limit, such as of groups, that no scan exceeds alone. Other errors would hit each.
      const isLimit = error instanceof Failure && error.kind === "limit";
      if (isLimit) this.#runEach(family);
      else for (const { resolve } of family) resolve(Promise.reject(error as Error));
    }
  }

  /** Returns the recent result of an equal scan, or runs it. Scans are equal where `kind` and the JSON of `query` are. */
  #shareRecent<A extends AggregateResult>(
    kind: "rows" | "samples",
    signal: Signal,
    query: AggregateQuery | SampleQuery,
    scan: () => Promise<A>,
  ): Promise<A> {
    const key = JSON.stringify([kind, query], (_, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
    const known = this.#recent.get(key);
    if (known !== undefined && this.#isCurrent(known, signal, query.toNs)) {
      this.#scans.add(1, { run: "shared" });
      // Equal queries have results of the same type.
      return known.answer as Promise<A>;
    }
    // Taken before anything is read: what arrives meanwhile counts as not read.
    const position = this.#arrivals.position(signal);
    const answer = scan();
    this.#recent.delete(key);
    this.#recent.set(key, { answer, untilMs: performance.now() + recentMs, position });
    // A failure is not shared with later scans.
    answer.catch(() => this.#recent.delete(key));
    if (this.#recent.size > recentMax) this.#recent.delete(this.#recent.keys().next().value!);
    return answer;
  }

  /** Whether no row has arrived since that a scan up to `toNs` might read. Rows of later times do not matter to it. */
  #isCurrent({ untilMs, position }: RecentScan, signal: Signal, toNs: bigint): boolean {
    if (untilMs <= performance.now()) return false;
    const oldestMs = this.#arrivals.oldestMs(signal, position);
    return oldestMs === undefined || BigInt(Math.floor(oldestMs)) * 1_000_000n >= toNs;
  }
}
