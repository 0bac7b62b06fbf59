/** Entry point of a decoding thread: decodes the bodies that it gets, in order. */

import { decodeBody } from "./decode.ts";
import type { DecodeResult, DecodeTask } from "./decode-task.ts";

/** Nothing is transferred back, since the batches' bytes are in shared memory. */
export default function decodeBodies(task: DecodeTask): DecodeResult {
  return task.map(decodeBody);
}
