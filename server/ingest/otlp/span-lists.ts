/** Events and links of a span, which are stored as the JSON text of one attribute each. */

import { spanListBytesMax } from "../limits.ts";

/** One array of these elements: as many from the first on as an attribute has room for. */
export function joinedJson(elements: readonly string[]): string {
  let kept = 0;
  // The brackets.
  let bytes = 2;
  for (const element of elements) {
    bytes += Buffer.byteLength(element) + 1;
    if (bytes > spanListBytesMax) break;
    kept++;
  }
  return `[${elements.slice(0, kept).join(",")}]`;
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
