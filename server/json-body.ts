/** The JSON body of a request that is not telemetry. */

import { isUtf8 } from "node:buffer";
import { jsonBodyBytesMax } from "./limits.ts";
import type { RouteBody, ServerRequest } from "./route.ts";
import { Refusal } from "./route.ts";
import { encodingOf, unpacked } from "./unpack.ts";

export const jsonBody: RouteBody = { bytesMax: jsonBodyBytesMax, contentTypes: ["application/json"] };

/** Throws Refusal 400 where it is not UTF-8 or not JSON, 413 and 415 as `unpacked` does. */
export function parseJsonBody(request: ServerRequest): unknown {
  const bytes = unpacked(request.body, encodingOf(request.headers), jsonBodyBytesMax);
  if (bytes.length === 0) throw new Refusal(400, "the body must be a JSON object, but it is empty");
  if (!isUtf8(bytes)) throw new Refusal(400, "the body is not valid UTF-8");
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
