/** A trace as the lines of its waterfall, and the path of spans that its time depends on. */

import type { TraceAnswer, TreeSpan } from "./answers.ts";

/** A span with its place in the tree. Times are milliseconds since the first span of the trace began. */
export interface SpanNode {
  span: TreeSpan;
  depth: number;
  startMs: number;
  endMs: number;
  /** The part of its time in which none of its children ran. */
  selfMs: number;
  parent: SpanNode | undefined;
  children: SpanNode[];
  /** Spans below it. */
  below: number;
  /** Whether it or a span below it has an error. */
  hasError: boolean;
  /** The time of the longest span of it and those below: a span may go on for longer than its parent. */
  longestMs: number;
}

/** All spans of a trace, each before its children. */
export function flattenTrace({ roots }: TraceAnswer): SpanNode[] {
  const nodes: SpanNode[] = [];
  const originNs = firstStartNs(roots);
  const open = roots.toReversed().map((span) => ({ span, parent: undefined as SpanNode | undefined }));
  // A loop: traces may be ten thousand spans deep.
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { span, parent } = next;
    const startMs = Number(BigInt(span.startTimeUnixNano) - originNs) / 1e6;
    const node: SpanNode = {
      ...{ span, parent, depth: parent === undefined ? 0 : parent.depth + 1 },
      ...{ startMs, endMs: startMs + (span.durationMs ?? 0), selfMs: 0, children: [], below: 0 },
      ...{ hasError: isError(span), longestMs: span.durationMs ?? 0 },
    };
    parent?.children.push(node);
    nodes.push(node);
    for (const child of span.children.toReversed()) open.push({ span: child, parent: node });
  }
  for (const node of nodes.toReversed()) {
    node.selfMs = node.endMs - node.startMs - coveredMs(node);
    const { parent } = node;
    if (parent === undefined) continue;
    parent.below += node.below + 1;
    parent.hasError ||= node.hasError;
    parent.longestMs = Math.max(parent.longestMs, node.longestMs);
  }
  return nodes;
}

/** The start of the earliest span. The trace's own `startTime` is in whole milliseconds: too coarse for a short trace. */
function firstStartNs(roots: readonly TreeSpan[]): bigint {
  let first: bigint | undefined;
  const open = [...roots];
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    const startNs = BigInt(span.startTimeUnixNano);
    if (first === undefined || startNs < first) first = startNs;
    for (const child of span.children) open.push(child);
  }
  return first ?? 0n;
}

export function isError({ statusCode }: TreeSpan): boolean {
  return statusCode?.toLowerCase() === "error";
}

/** The nodes that are not below a closed one, in the same order. */
export function openNodes(nodes: readonly SpanNode[], closed: ReadonlySet<string>): SpanNode[] {
  const shown: SpanNode[] = [];
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i]!;
    shown.push(node);
    if (closed.has(node.span.spanId)) i += node.below;
  }
  return shown;
}

/** Milliseconds of a span in which at least one of its children runs. */
function coveredMs({ startMs, endMs, children }: SpanNode): number {
  const spans = children
    .map((child) => [Math.max(startMs, child.startMs), Math.min(endMs, child.endMs)] as const)
    .filter(([from, to]) => to > from)
    .sort((a, b) => a[0] - b[0]);
  let covered = 0;
  let reached = startMs;
  for (const [from, to] of spans) {
    covered += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return covered;
}

/** A stretch of time that the trace's end depends on, and the span that ran in it. */
export interface PathPiece {
  node: SpanNode;
  startMs: number;
  endMs: number;
}

/**
 * The critical path: from the end of the root back to its start, at each moment the deepest span that the root's end
 * waited for. In a span the walk goes to the child that ended last before the present moment, then to the one that ended
 * last before that child began, and so on; what lies between them is the span's own time. The longest root is walked.
 * After Uber's CRISP (USENIX ATC 2022), without its corrections of clocks.
 */
export function findCriticalPath(nodes: readonly SpanNode[]): PathPiece[] {
  const roots = nodes.filter(({ parent }) => parent === undefined);
  const longest = roots.toSorted((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs))[0];
  if (longest === undefined) return [];
  const pieces: PathPiece[] = [];
  const open = [{ node: longest, fromMs: longest.startMs, toMs: longest.endMs }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, fromMs, toMs } = next;
    let reached = toMs;
    const byEnd = node.children.toSorted((a, b) => b.endMs - a.endMs);
    for (const child of byEnd) {
      const endMs = Math.min(child.endMs, reached);
      const startMs = Math.max(child.startMs, fromMs);
      // Only a child that has ended by `reached` explains the time before it: nobody waits for one that ends later.
      if (child.endMs > reached || endMs <= startMs) continue;
      if (reached > endMs) pieces.push({ node, startMs: endMs, endMs: reached });
      open.push({ node: child, fromMs: startMs, toMs: endMs });
      reached = startMs;
    }
    if (reached > fromMs) pieces.push({ node, startMs: fromMs, endMs: reached });
  }
  return pieces.sort((a, b) => a.startMs - b.startMs);
}
