/** Parses JSON bodies of requests other than telemetry. */

import { isUtf8 } from "node:buffer";
import type { Json } from "../../engine/index.ts";
import { Refusal } from "../throttle/refusal.ts";
import { encodingOf, unpack } from "./content-encoding.ts";
import { jsonBodyBytesMax, jsonDepthMax } from "./limits.ts";
import type { ServerRequest } from "./route.ts";

/** Throws Refusal 400 where the body is not UTF-8, not JSON or nested too deep, and 413 and 415 as `unpack` does. */
export function parseJsonBody(request: ServerRequest): Json {
  const bytes = unpack(request.body, encodingOf(request.headers), jsonBodyBytesMax);
  if (bytes.length === 0) throw new Refusal(400, "the body must be a JSON object, but it is empty");
  if (!isUtf8(bytes)) throw new Refusal(400, "the body is not valid UTF-8");
  const value = parseText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
  checkNesting(value, jsonDepthMax);
  return value;
}

function parseText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Throws Refusal 400 for deep nesting, and for `__proto__`, the name that JavaScript does not treat as a field. */
function checkNesting(value: Json, depthLeft: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depthLeft === 0) throw new Refusal(400, `the body nests more than ${jsonDepthMax} objects and arrays`);
  if (Object.hasOwn(value, "__proto__")) throw new Refusal(400, 'unknown field "__proto__"');
  for (const inner of Object.values(value)) checkNesting(inner as Json, depthLeft - 1);
}
