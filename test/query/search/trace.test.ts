/**
 * Traces of random spans, with missing parents, cycles and duplicates, have the properties that every trace must have.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyScanStatistics, type FoundRow } from "../../../engine/index.ts";
import { queryTrace, type Trace, type TraceSpan } from "../../../query/index.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const traceId = "6f3cbf058c2765548a39ad724905d6a1";

interface SentSpan {
  id: number;
  /** The id of the parent; 0 for none. */
  parent: number;
  at: number;
  ms: number;
  service: string;
}

const idText = (id: number) => (id === 0 ? "" : id.toString(16).padStart(16, "0"));

function spanRow({ id, parent, at, ms, service }: SentSpan, arrival: number): FoundRow {
  const parents = parent === 0 ? {} : { parent_span_id: idText(parent) };
  const ids = { trace_id: traceId, span_id: idText(id), ...parents };
  const attributes = { ...ids, name: `work ${id}`, duration_ms: String(ms), "service.name": service };
  return { timeNs: BigInt(at) * 1_000_000n, arrival, level: "", message: "", attributes };
}

function logRow(span: number, arrival: number): FoundRow {
  const of: Record<string, string> = span === 0 ? {} : { span_id: idText(span) };
  return { timeNs: BigInt(arrival), arrival, level: "info", message: `log ${arrival}`, attributes: of };
}

/** Queries a trace from a store that returns these rows, newest first, rows of equal time in the order of arrival. */
async function traceOf(
  spans: readonly FoundRow[],
  logs: readonly FoundRow[] = [],
): Promise<Trace | undefined> {
  const newestFirst = (rows: readonly FoundRow[]) =>
    [...rows].sort((a, b) => Number(b.timeNs - a.timeNs) || a.arrival - b.arrival);
  const scanned = emptyScanStatistics();
  const store = {
    search: async ({ signal, limit }: { signal: string; limit: number }) => {
      const rows = newestFirst(signal === "traces" ? spans : logs);
      return { rows: rows.slice(0, limit), more: rows.length > limit, scanned };
    },
  };
  return queryTrace(store, { traceId, startMs: 0, endMs: 1e12 });
}

/** Lists every span with its parent, without recursion, as traces may be deep. */
function listNodes(roots: readonly TraceSpan[]): { node: TraceSpan; parent: TraceSpan | undefined }[] {
  const found: { node: TraceSpan; parent: TraceSpan | undefined }[] = roots.map((node) => ({
    node,
    parent: undefined,
  }));
  for (let i = 0; i < found.length; i++) {
    const { node } = found[i]!;
    for (const child of node.children) found.push({ node: child, parent: node });
  }
  return found;
}

const sent = fc.record({
  id: fc.integer({ min: 1, max: 12 }),
  parent: fc.integer({ min: 0, max: 14 }),
  at: fc.integer({ min: 1, max: 6 }),
  ms: fc.integer({ min: 0, max: 5 }),
  service: fc.constantFrom("web", "cart", ""),
});

const startOf = ({ span }: TraceSpan) => Number(span.startNs);
const isAscending = (nodes: readonly TraceSpan[]) =>
  nodes.every((node, i) => i === 0 || startOf(nodes[i - 1]!) <= startOf(node));

describe(`trees of spans (SVC_SEED=${seed})`, () => {
  test("hold each span once, below its parent where that was found", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(sent, { minLength: 1, maxLength: 20 }),
        fc.array(fc.integer({ min: 0, max: 14 }), { maxLength: 8 }),
        async (spans, logs) => {
          const rows = spans.map(spanRow);
          const trace = (await traceOf(rows, logs.map(logRow)))!;
          const distinct = new Set(spans.map((each) => JSON.stringify(each)));
          const found = listNodes(trace.roots);
          expect(trace.spans).toBe(distinct.size);
          expect(new Set(found.map(({ node }) => node)).size).toBe(distinct.size);
          const ids = new Set(rows.map(({ attributes }) => attributes.span_id));
          for (const { node, parent } of found) {
            expect(isAscending(node.children)).toBe(true);
            if (parent !== undefined) expect(node.span.parentSpanId).toBe(parent.span.spanId);
            else expect(node.isOrphan).toBe(node.span.parentSpanId !== "");
          }
          expect(isAscending(trace.roots)).toBe(true);
          const logsOfSpans = found.flatMap(({ node }) =>
            node.logs.map((log) => [log.message, node.span.spanId]),
          );
          const tied = logs.flatMap((span, i) => (ids.has(idText(span)) ? [[`log ${i}`, idText(span)]] : []));
          expect(logsOfSpans.sort()).toEqual(tied.sort());
          const apart = logs.flatMap((span, i) => (ids.has(idText(span)) ? [] : [`log ${i}`]));
          expect(trace.logs.map(({ message }) => message)).toEqual(apart);
          const end = Math.max(...spans.map(({ at, ms }) => at + ms));
          const start = Math.min(...spans.map(({ at }) => at));
          expect([Number(trace.startNs) / 1e6, trace.durationMs]).toEqual([start, end - start]);
        },
      ),
      { seed, numRuns: 1_000 },
    );
  });

  test("a span with a parent is a root only to cut a cycle", async () => {
    // Each parent has a lower number, so there are no cycles, and only spans without a parent are roots.
    const upward = fc
      .array(sent, { minLength: 1, maxLength: 15 })
      .map((spans) => spans.map((each, i) => ({ ...each, id: i + 1, parent: each.parent % (i + 1) })));
    await fc.assert(
      fc.asyncProperty(upward, async (spans) => {
        const trace = (await traceOf(spans.map(spanRow)))!;
        const roots = trace.roots.map(({ span }) => span.spanId).sort();
        expect(roots).toEqual(
          spans
            .filter(({ parent }) => parent === 0)
            .map(({ id }) => idText(id))
            .sort(),
        );
      }),
      { seed, numRuns: 300 },
    );
  });
});

const makeChain = (length: number) =>
  Array.from({ length }, (_, i): SentSpan => ({ id: i + 1, parent: i, at: 1, ms: 1, service: "web" }));

test("the first span of a cycle becomes its root", async () => {
  const ring = [3, 1, 2].map((at, i) => ({ id: i + 1, parent: ((i + 1) % 3) + 1, at, ms: 1, service: "" }));
  const trace = (await traceOf(ring.map(spanRow)))!;
  expect(trace.roots.map(({ span, isOrphan }) => [span.spanId, isOrphan])).toEqual([[idText(2), true]]);
  expect(listNodes(trace.roots).length).toBe(3);
});

test("a chain of as many spans as are read is a tree, and more spans are cut off", async () => {
  const trace = (await traceOf(makeChain(10_000).map(spanRow)))!;
  expect([trace.roots.length, listNodes(trace.roots).length, trace.isTruncated]).toEqual([1, 10_000, false]);
  expect((await traceOf(makeChain(10_001).map(spanRow)))!).toMatchObject({
    spans: 10_000,
    isTruncated: true,
  });
});

test("services are in the order of their first spans; a trace may have logs only; an unknown trace is undefined", async () => {
  const spans = ["web", "cart", "web", "", "pay"].map((service, i) => ({
    id: i + 1,
    parent: 0,
    at: 9 - i,
    ms: 1,
    service,
  }));
  expect((await traceOf(spans.map(spanRow)))!.services).toEqual(["pay", "web", "cart"]);
  expect(await traceOf([], [logRow(1, 5)])).toMatchObject({
    spans: 0,
    roots: [],
    startNs: 5n,
    durationMs: 0,
  });
  expect(await traceOf([])).toBeUndefined();
});
