import type { ColumnRead, Field, QueryLimits, RowColumns, Step, Store } from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction } from "../plan/simplification.ts";
import { bucketStartMsOf, makeTimeBuckets } from "../time/buckets.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";
import { CallGroups, type CallStatistics } from "./call-statistics.ts";
import { idReads, joinSpans, readSpans, type SpanGraph, type TextColumn } from "./span-graph.ts";
import type { HashColumn, SpanTable } from "./span-table.ts";

/** The part of a store that a service map needs. */
export type ServiceMapStore = Pick<Store, "readColumns" | "aggregate" | "attributeKeys">;

/** A search for spans whose calls are to be drawn. */
export interface ServiceMapQuery extends TimeRange {
  query: string;
}

/** What a node of the map is: a service that sends spans, or something that such services call and that sends none. */
export type ServiceKind = "service" | "database" | "messaging" | "external";

/** A service, with what was measured of the calls to it. */
export interface MappedService extends CallStatistics {
  /** Its `service.name`, "" where spans have none; of others such as `postgresql/orders`. */
  name: string;
  kind: ServiceKind;
}

/** Calls from one service to another. */
export interface MappedEdge extends CallStatistics {
  from: string;
  to: string;
}

/** Which services call which. */
export interface ServiceMap extends TimeRange {
  /** Those with the most calls first. */
  services: MappedService[];
  /** Those with the most calls first. */
  edges: MappedEdge[];
  /** The number of spans that the search finds in the range from `startMs` to `endMs`. */
  spans: number;
  /** Sentences for people, such as that the map shows a part of the range. */
  warnings: string[];
}

/** Spans that one map is made of. Each takes some 50 bytes of the memory of the query thread, and a microsecond. */
const spansMax = 1_000_000;
/** More than anybody can look at; names from outside have no bound. */
const servicesMax = 500;
const edgesMax = 2_000;
/** Parents that began up to this long before the range are found, nanoseconds. */
const marginNs = 60_000_000_000n;

const attribute = (key: string) => ({ kind: "attribute", key }) as const;
const read = (key: string, as: ColumnRead["as"]): ColumnRead => ({ field: attribute(key), as });
/** Attributes that name what a client called, as the semantic conventions of OpenTelemetry have them, old and new. */
const peerKeys = [
  "peer.service",
  ...["db.system.name", "db.system", "db.namespace", "db.name"],
  ...["messaging.system", "messaging.destination.name"],
  ...["server.address", "net.peer.name"],
] as const;

/** The spans of a range, and those of its first minute before. */
interface Spans extends SpanGraph {
  /** 1 for the spans that the search finds. */
  isFound: Uint8Array;
}

/**
 * Finds which services call which, from the parents of the spans that a search finds: a span whose parent belongs to
 * another service is a call between the two. A client's span without such a child is a call to what its attributes
 * name. Throws a QueryError for a mistake in the query, and what the store throws.
 */
export async function queryServiceMap(
  store: ServiceMapStore,
  asked: ServiceMapQuery,
  limits?: QueryLimits,
): Promise<ServiceMap> {
  const startedAtMs = performance.now();
  const plan = planSearch("traces", asked.query);
  const work = new WorkDeadline(startedAtMs, limits);
  const remaining = () => deductElapsedTime(startedAtMs, limits);
  const { range, warnings } = await narrow(store, asked, remaining());
  const fields = idReads.map(({ field }): Field => field);
  const { steps } = await resolveSteps(
    store,
    {
      signal: "traces",
      ...toRangeNs(range.startMs, range.endMs),
      steps: dropUnreadExtraction(plan.steps, fields),
    },
    remaining(),
    { fields },
  );
  const spans = await readFoundSpans(store, { range, steps, limits: remaining() }, work);
  const map = new MapBuilder(spans);
  await map.addSpans(work);
  if (spans.rows > 0) await map.addClients(await readClients(store, range, remaining()), work);
  const { services, edges } = await map.finish(work);
  return {
    ...range,
    services: services.slice(0, servicesMax),
    edges: edges.slice(0, edgesMax),
    spans: map.found,
    warnings: [
      ...collectPlanWarnings(store, plan, toRangeNs(range.startMs, range.endMs)),
      ...warnings,
      ...(services.length > servicesMax
        ? [`the ${servicesMax} services with the most calls are shown, of ${services.length}`]
        : []),
      ...(edges.length > edgesMax
        ? [`the ${edgesMax} edges with the most calls are shown, of ${edges.length}`]
        : []),
    ],
  };
}

/** The range, or its newest part that has no more spans than a map is made of. */
async function narrow(
  store: ServiceMapStore,
  { startMs, endMs }: TimeRange,
  limits: QueryLimits,
): Promise<{ range: TimeRange; warnings: string[] }> {
  const buckets = makeTimeBuckets(startMs, endMs, 0);
  const { points } = await store.aggregate(
    {
      signal: "traces",
      ...toRangeNs(startMs, endMs),
      steps: [],
      groupBy: [],
      bucketNs: BigInt(buckets.seconds) * 1_000_000_000n,
      aggregates: [{ op: "count" }],
    },
    limits,
  );
  const counts = [...points.buckets].map((bucket, i) => ({ bucket, spans: points.values[0]![i]! }));
  counts.sort((a, b) => b.bucket - a.bucket);
  let spans = 0;
  for (const { bucket, spans: more } of counts) {
    spans += more;
    if (spans <= spansMax) continue;
    const fromMs = Math.min(bucketStartMsOf(buckets, bucket) + buckets.seconds * 1000, endMs);
    const problem = `the range has more than ${spansMax} spans: its part from ${new Date(fromMs).toISOString()} is shown`;
    return { range: { startMs: fromMs, endMs }, warnings: [problem] };
  }
  return { range: { startMs, endMs }, warnings: [] };
}

interface SpanQuery {
  range: TimeRange;
  /** Steps of the search; none finds all spans. */
  steps: Step[];
  limits: QueryLimits;
}

async function readFoundSpans(
  store: ServiceMapStore,
  { range, steps, limits }: SpanQuery,
  work: WorkDeadline,
): Promise<Spans> {
  const { fromNs, toNs } = toRangeNs(range.startMs, range.endMs);
  const rowsMax = spansMax * 2;
  const startedAtMs = performance.now();
  const [all, found] = await Promise.all([
    readSpans(store, { fromNs: fromNs - marginNs, toNs, rowsMax }, limits),
    steps.length === 0
      ? undefined
      : store.readColumns({ signal: "traces", fromNs, toNs, steps, columns: idReads, rowsMax }, limits),
  ]);
  const graph = await joinSpans(all, deductElapsedTime(startedAtMs, limits));
  const isFound =
    found === undefined
      ? markSince(graph.startNs, Number(marginNs))
      : await markFound(graph.table, found, graph.rows, work);
  return { ...graph, isFound };
}

function markSince(timeNs: Float64Array, fromNs: number): Uint8Array {
  return Uint8Array.from(timeNs, (ns) => (ns >= fromNs ? 1 : 0));
}

async function markFound(
  table: SpanTable,
  found: RowColumns,
  rows: number,
  work: WorkDeadline,
): Promise<Uint8Array> {
  const [traces, ids] = found.columns as [HashColumn, HashColumn];
  const isFound = new Uint8Array(rows);
  for (let i = 0; i < found.rows; i++) {
    if (work.isTurnOver()) await work.yield();
    const row = table.find(traces, ids, i);
    if (row >= 0) isFound[row] = 1;
  }
  return isFound;
}

/** Spans of clients that name what they called. */
function readClients(store: ServiceMapStore, range: TimeRange, limits: QueryLimits): Promise<RowColumns> {
  const kind = attribute("kind");
  return store.readColumns(
    {
      signal: "traces",
      ...toRangeNs(range.startMs, range.endMs),
      steps: [
        {
          kind: "filter",
          filter: {
            kind: "or",
            of: ["client", "producer"].map((value) => ({ kind: "equals", field: kind, value }) as const),
          },
        },
        {
          kind: "filter",
          filter: { kind: "or", of: peerKeys.map((key) => ({ kind: "present", field: attribute(key) })) },
        },
      ],
      columns: [...idReads, ...peerKeys.map((key) => read(key, "text"))],
      rowsMax: spansMax * 2,
    },
    limits,
  );
}

/** Collects services and the calls between them. */
class MapBuilder {
  found = 0;
  readonly #spans: Spans;
  readonly #names: string[] = [];
  readonly #kinds: ServiceKind[] = [];
  readonly #numberOf = new Map<string, number>();
  readonly #services = new CallGroups();
  readonly #edges = new CallGroups();
  readonly #edgeOf = new Map<string, number>();
  readonly #edgeEnds: [from: number, to: number][] = [];
  /** 1 for the spans that have a child in another service: their calls have been answered. */
  readonly #hasAnswer: Uint8Array;
  /** For each code of a service its number here, or -1. */
  readonly #numbers: Int32Array;
  /** For each code of a status whether it is an error. */
  readonly #isError: boolean[];

  constructor(spans: Spans) {
    this.#spans = spans;
    this.#hasAnswer = new Uint8Array(spans.rows);
    this.#numbers = new Int32Array(spans.services.values.length).fill(-1);
    this.#isError = spans.statuses.values.map((status) => status.toLowerCase() === "error");
  }

  /** Counts each span that enters a service: one without a parent, or whose parent belongs to another service. */
  async addSpans(work: WorkDeadline): Promise<void> {
    const { rows, parents, services, isFound } = this.#spans;
    for (let row = 0; row < rows; row++) {
      if (work.isTurnOver()) await work.yield();
      const parent = parents[row]!;
      const isOwn = parent >= 0 && services.codes[parent] === services.codes[row];
      if (parent >= 0 && !isOwn) this.#hasAnswer[parent] = 1;
      if (isFound[row] === 0) continue;
      this.found++;
      const own = this.#serviceOf(row);
      if (isOwn) continue;
      this.#count(this.#services, own, row);
      if (parent >= 0) this.#count(this.#edges, this.#edge(this.#serviceOf(parent), own), row);
    }
  }

  /** Counts the calls of clients that no span answers, as calls to what they name. */
  async addClients(clients: RowColumns, work: WorkDeadline): Promise<void> {
    const [traces, ids, ...peers] = clients.columns as [HashColumn, HashColumn, ...TextColumn[]];
    const { table, isFound } = this.#spans;
    for (let i = 0; i < clients.rows; i++) {
      if (work.isTurnOver()) await work.yield();
      const row = table.find(traces, ids, i);
      if (row < 0 || isFound[row] === 0 || this.#hasAnswer[row] === 1) continue;
      const texts = peers.map(({ values, codes }) => values[codes[i]!]!);
      const { name, kind } = peerOf(texts);
      const own = this.#serviceOf(row);
      if (name === "") continue;
      const called = this.#number(name, kind);
      if (called === own) continue;
      this.#count(this.#services, called, row);
      this.#count(this.#edges, this.#edge(own, called), row);
    }
  }

  async finish(work: WorkDeadline): Promise<{ services: MappedService[]; edges: MappedEdge[] }> {
    const services = await this.#services.finish(this.#names.length, work);
    const edges = await this.#edges.finish(this.#edgeEnds.length, work);
    const byCalls = (a: CallStatistics, b: CallStatistics) => b.calls - a.calls;
    return {
      services: services
        .map((each, i) => ({ name: this.#names[i]!, kind: this.#kinds[i]!, ...each }))
        .sort((a, b) => byCalls(a, b) || (a.name < b.name ? -1 : 1)),
      edges: edges
        .map((each, i) => {
          const [from, to] = this.#edgeEnds[i]!;
          return { from: this.#names[from]!, to: this.#names[to]!, ...each };
        })
        .sort(byCalls),
    };
  }

  #count(groups: CallGroups, group: number, row: number): void {
    const { durationsMs, statuses } = this.#spans;
    groups.add(group, durationsMs[row]!, this.#isError[statuses.codes[row]!]!);
  }

  #serviceOf(row: number): number {
    const { codes, values } = this.#spans.services;
    const code = codes[row]!;
    if (this.#numbers[code] === -1) this.#numbers[code] = this.#number(values[code]!, "service");
    return this.#numbers[code]!;
  }

  /** A name that a client gives to a service that sends spans is that service. */
  #number(name: string, kind: ServiceKind): number {
    const known = this.#numberOf.get(name);
    if (known !== undefined) return known;
    this.#numberOf.set(name, this.#names.length);
    this.#kinds.push(kind);
    return this.#names.push(name) - 1;
  }

  #edge(from: number, to: number): number {
    const key = `${from} ${to}`;
    let edge = this.#edgeOf.get(key);
    if (edge === undefined) {
      edge = this.#edgeEnds.push([from, to]) - 1;
      this.#edgeOf.set(key, edge);
    }
    return edge;
  }
}

/** The name of what a client called; `texts` are its attributes in the order of `peerKeys`. */
function peerOf(texts: readonly string[]): { name: string; kind: ServiceKind } {
  const [service, system, oldSystem, namespace, oldName, broker, topic, address, oldAddress] = texts as [
    string,
    ...string[],
  ];
  const join = (...parts: (string | undefined)[]) => parts.filter((part) => part).join("/");
  if (service !== "") return { name: service, kind: "service" };
  const database = system || oldSystem;
  if (database) return { name: join(database, namespace || oldName), kind: "database" };
  if (broker) return { name: join(broker, topic), kind: "messaging" };
  return { name: address || oldAddress || "", kind: "external" };
}
