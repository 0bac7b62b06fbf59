/** Events and links of a span, each list stored as the JSON text of one attribute. */

import { spanListBytesMax } from "../limits.ts";

/** Joins elements to a JSON array: as many of the first ones as fit into one attribute. `cut` is the number of the others. */
export function joinJson(elements: readonly string[]): { json: string; cut: number } {
  let count = 0;
  // The two brackets.
  let bytes = 2;
  for (const element of elements) {
    bytes += Buffer.byteLength(element) + 1;
    if (bytes > spanListBytesMax) break;
    count++;
  }
  return { json: `[${elements.slice(0, count).join(",")}]`, cut: elements.length - count };
}

export interface LinkIds {
  traceId: string;
  spanId: string;
  traceState: string;
}

export function linkJson({ traceId, spanId, traceState }: LinkIds, attributesJson: string): string {
  const state = traceState === "" ? "" : `"traceState":${JSON.stringify(traceState)},`;
  return `{"traceId":"${traceId}","spanId":"${spanId}",${state}"attributes":${attributesJson}}`;
}
