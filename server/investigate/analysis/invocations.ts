/** Invocations: what a service does for one call. */

import type { SpanGraph } from "../../../query/index.ts";
import type { Timeline } from "./telemetry.ts";

/** Who calls which operation of which service; "" for the caller of a call from outside. */
interface InvocationKey {
  caller: string;
  service: string;
  operation: string;
}

/**
 * All invocations of some spans. An invocation is a span whose parent belongs to another service, with the spans below
 * it as far as they are of its service. A call that got no answer is one, too: it has no spans but that of its caller.
 */
export interface Invocations {
  count: number;
  /** The invocation that each span belongs to. */
  ofSpan: Int32Array;
  /** The first span of each; for one without an answer, the span of its caller that calls it. */
  first: Int32Array;
  /** The span of the caller that calls each; -1 for a call from outside. */
  calls: Int32Array;
  /** 1 for a call that failed without an answer. */
  isUnanswered: Uint8Array;
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
  const answered = first.length;
  const unanswered = findUnanswered(spans, firstOf);
  first.push(...unanswered.keys());
  const isUnanswered = Uint8Array.from(first, (_, i) => (i < answered ? 0 : 1));
  const calls = Int32Array.from(first, (row, i) => (i < answered ? spans.parents[row]! : row));
  const names = nameInvocations(spans, first, calls, unanswered);
  return {
    ...{ count: first.length, ofSpan, first: Int32Array.from(first), calls, isUnanswered, ...names },
    parents: calls.map((row) => (row === -1 ? -1 : ofSpan[row]!)),
    chunks: Int32Array.from(first, (row) => timeline.chunkOf(spans.startNs[row]!)),
  };
}

const answersMin = 4;
const answeredShareMin = 0.5;

/** Failed spans below which nobody answered, where others of their name get answers: with the first span of such an answer. */
function findUnanswered(spans: SpanGraph, firstOf: Int32Array): Map<number, number> {
  const { rows, parents, services, names, statuses } = spans;
  const isError = statuses.values.map((status) => status.toLowerCase() === "error");
  const nameCount = names.values.length;
  const nameOf = (row: number) => services.codes[row]! * nameCount + names.codes[row]!;
  const hasAnswer = new Uint8Array(rows);
  const answers = new Map<number, Map<number, { count: number; row: number }>>();
  for (let row = 0; row < rows; row++) {
    const call = parents[row]!;
    if (call === -1 || firstOf[row] !== row || services.codes[call] === services.codes[row]) continue;
    hasAnswer[call] = 1;
    const own = answers.get(nameOf(call)) ?? new Map<number, { count: number; row: number }>();
    answers.set(nameOf(call), own);
    const answer = own.get(nameOf(row)) ?? { count: 0, row };
    answer.count++;
    own.set(nameOf(row), answer);
  }
  const totals = new Map<number, number>();
  for (let row = 0; row < rows; row++)
    if (answers.has(nameOf(row)) && !isError[statuses.codes[row]!])
      totals.set(nameOf(row), 1 + (totals.get(nameOf(row)) ?? 0));
  const found = new Map<number, number>();
  for (let row = 0; row < rows; row++) {
    if (hasAnswer[row] === 1 || !isError[statuses.codes[row]!]) continue;
    const own = [...(answers.get(nameOf(row))?.values() ?? [])];
    if (own.length === 0) continue;
    const most = own.reduce((a, b) => (b.count > a.count ? b : a));
    const total = totals.get(nameOf(row)) ?? 0;
    if (most.count >= answersMin && most.count >= answeredShareMin * total) found.set(row, most.row);
  }
  return found;
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
  { services, names }: SpanGraph,
  first: readonly number[],
  calls: Int32Array,
  unanswered: ReadonlyMap<number, number>,
): Pick<Invocations, "keyOf" | "keys"> {
  const numbers = new Map<string, number>();
  const keys: InvocationKey[] = [];
  const keyOf = Int32Array.from(first, (row, i) => {
    const call = calls[i]!;
    // A call without an answer is named as the answers of such calls are.
    const named = call === row ? unanswered.get(row)! : row;
    const caller = call === -1 ? 0 : services.codes[call]!;
    const text = `${caller} ${services.codes[named]} ${names.codes[named]}`;
    let number = numbers.get(text);
    if (number === undefined) {
      number =
        keys.push({
          caller: services.values[caller]!,
          service: services.values[services.codes[named]!]!,
          operation: names.values[names.codes[named]!]!,
        }) - 1;
      numbers.set(text, number);
    }
    return number;
  });
  return { keyOf, keys };
}
