/** Invocations: what a service does for one call. */

import type { SpanGraph } from "../../query/index.ts";
import type { Timeline } from "./telemetry.ts";

/** Who calls which operation of which service; "" for the caller of a call from outside. */
interface InvocationKey {
  caller: string;
  service: string;
  operation: string;
}

/**
 * All invocations of some spans. An invocation is a span whose parent belongs to another service, with the spans below
 * it as far as they are of its service.
 */
export interface Invocations {
  count: number;
  /** The invocation that each span belongs to. */
  ofSpan: Int32Array;
  /** The first span of each. */
  first: Int32Array;
  /** The invocation that calls each; -1 for a call from outside. */
  parents: Int32Array;
  /** The key of each, by its number in `keys`. */
  keyOf: Int32Array;
  keys: InvocationKey[];
  /** The chunk in which each begins; -1 for none. */
  chunks: Int32Array;
}

export function findInvocations(spans: SpanGraph, timeline: Timeline): Invocations {
  const firstOf = findFirstSpans(spans);
  const numberOf = new Int32Array(spans.rows).fill(-1);
  const first: number[] = [];
  for (let row = 0; row < spans.rows; row++) if (firstOf[row] === row) numberOf[row] = first.push(row) - 1;
  const ofSpan = firstOf.map((row) => numberOf[row]!);
  const parents = Int32Array.from(first, (row) => {
    const parent = spans.parents[row]!;
    return parent === -1 ? -1 : ofSpan[parent]!;
  });
  return {
    ...{ count: first.length, ofSpan, first: Int32Array.from(first), parents },
    ...nameInvocations(spans, first),
    chunks: Int32Array.from(first, (row) => timeline.chunkOf(spans.startNs[row]!)),
  };
}

/** For each span the first one of its invocation. */
function findFirstSpans({ rows, parents, services }: SpanGraph): Int32Array {
  const unknown = -1;
  const first = new Int32Array(rows).fill(unknown);
  const path: number[] = [];
  for (let row = 0; row < rows; row++) {
    let at = row;
    while (first[at] === unknown) {
      const parent = parents[at]!;
      path.push(at);
      // Marks the way, so that spans that are each other's parents end it.
      first[at] = at;
      if (parent === -1 || services.codes[parent] !== services.codes[at]) break;
      at = parent;
    }
    const found = first[at]!;
    for (const each of path) first[each] = found;
    path.length = 0;
  }
  return first;
}

function nameInvocations(
  { parents, services, names }: SpanGraph,
  first: readonly number[],
): Pick<Invocations, "keyOf" | "keys"> {
  const numbers = new Map<string, number>();
  const keys: InvocationKey[] = [];
  const keyOf = Int32Array.from(first, (row) => {
    const parent = parents[row]!;
    const caller = parent === -1 ? 0 : services.codes[parent]!;
    const text = `${caller} ${services.codes[row]} ${names.codes[row]}`;
    let number = numbers.get(text);
    if (number === undefined) {
      number =
        keys.push({
          caller: services.values[caller]!,
          service: services.values[services.codes[row]!]!,
          operation: names.values[names.codes[row]!]!,
        }) - 1;
      numbers.set(text, number);
    }
    return number;
  });
  return { keyOf, keys };
}
