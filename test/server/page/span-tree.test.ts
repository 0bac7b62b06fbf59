/** The waterfall of a trace: own times against a count of moments, the critical path against a walk moment by moment. */

import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { TraceAnswer, TreeSpan } from "../../../server/page/client/traces/answers.ts";
import {
  findCriticalPath,
  flattenTrace,
  type SpanNode,
} from "../../../server/page/client/traces/span-tree.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startTime = 1_769_676_121_007;
let ids = 0;

function makeSpan(startMs: number, endMs: number, children: TreeSpan[] = []): TreeSpan {
  return {
    ...{ traceId: "t", spanId: `s${ids++}`, parentSpanId: "", name: "n", logs: [], children, attributes: {} },
    startTimeUnixNano: String(BigInt(startTime + startMs) * 1_000_000n),
    durationMs: endMs - startMs,
  };
}

function answerOf(...roots: TreeSpan[]): TraceAnswer {
  const durationMs = Math.max(...roots.map((root) => root.durationMs ?? 0));
  return { traceId: "t", startTime, durationMs, spans: 0, services: [], roots, logs: [] };
}

/** A random span: children may overlap, begin before their parent and end after it. */
function randomSpan(random: Random, from: number, to: number, depth: number): TreeSpan {
  const children = Array.from({ length: depth === 0 ? 0 : random.below(4) }, () => {
    const start = from - 2 + random.below(to - from + 4);
    return randomSpan(random, start, start + random.below(to - from + 3), depth - 1);
  });
  return makeSpan(from, to, children);
}

/** The span that each millisecond of the root belongs to, walking back from its end. */
function walkBack(root: SpanNode): SpanNode[] {
  const owners: SpanNode[] = [];
  const open = [{ node: root, from: root.startMs }];
  for (let t = root.endMs; open.length > 0; ) {
    const { node, from } = open.at(-1)!;
    if (t <= from) {
      open.pop();
      continue;
    }
    const ended = node.children.find((child) => child.endMs === t && Math.max(child.startMs, from) < t);
    if (ended !== undefined) open.push({ node: ended, from: Math.max(ended.startMs, from) });
    else owners[--t - root.startMs] = node;
  }
  return owners;
}

test(`random traces (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < 400; i++) {
    const nodes = flattenTrace(answerOf(randomSpan(random, 0, 1 + random.below(30), 3)));
    for (const { startMs, endMs, selfMs, children, below } of nodes) {
      let own = 0;
      for (let t = startMs; t < endMs; t++)
        if (!children.some((child) => child.startMs <= t && child.endMs > t)) own++;
      expect(selfMs).toBe(own);
      expect(below).toBe(children.reduce((sum, child) => sum + 1 + child.below, 0));
    }
    const root = nodes[0]!;
    const owners: SpanNode[] = [];
    for (const { node, startMs, endMs } of findCriticalPath(nodes))
      for (let t = startMs; t < endMs; t++) {
        expect(owners[t - root.startMs]).toBeUndefined();
        owners[t - root.startMs] = node;
      }
    expect(owners.map(({ span }) => span.spanId)).toEqual(walkBack(root).map(({ span }) => span.spanId));
    expect(owners.length).toBe(root.endMs - root.startMs);
  }
});

test("the path goes through the calls that were waited for, and not through the one that was over long before", () => {
  const slow = makeSpan(20, 90);
  const quick = makeSpan(20, 40);
  const first = makeSpan(5, 15);
  const nodes = flattenTrace(answerOf(makeSpan(0, 100, [first, quick, slow])));
  const path = findCriticalPath(nodes).map(({ node, startMs, endMs }) => [node.span.spanId, startMs, endMs]);
  const root = nodes[0]!.span.spanId;
  expect(path).toEqual([
    [root, 0, 5],
    [first.spanId, 5, 15],
    [root, 15, 20],
    [slow.spanId, 20, 90],
    [root, 90, 100],
  ]);
});

test("spans of less than a millisecond stand where they ran, whatever the milliseconds of their start", () => {
  const at = (span: TreeSpan, startNs: bigint, durationMs: number): TreeSpan => {
    const startTimeUnixNano = String(BigInt(startTime) * 1_000_000n + startNs);
    return { ...span, startTimeUnixNano, durationMs };
  };
  const child = at(makeSpan(0, 0), 700_300n, 0.1);
  const nodes = flattenTrace(answerOf(at(makeSpan(0, 0, [child]), 700_000n, 0.25)));
  expect(nodes.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
    [0, 0.25],
    [0.0003, 0.1003],
  ]);
});

test("ten thousand spans below each other, and beside each other", () => {
  let chain = makeSpan(0, 1);
  for (let i = 2; i <= 10_000; i++) chain = makeSpan(0, i, [chain]);
  expect(flattenTrace(answerOf(chain)).at(-1)!.depth).toBe(9_999);
  expect(findCriticalPath(flattenTrace(answerOf(chain))).length).toBe(10_000);
  const wide = Array.from({ length: 10_000 }, (_, i) => makeSpan(i, i + 1));
  expect(findCriticalPath(flattenTrace(answerOf(makeSpan(0, 10_000, wide)))).length).toBe(10_000);
  expect(findCriticalPath([])).toEqual([]);
});
