/** The worker thread's side: decodes the bodies it is handed, in order. */

import { decodeBody } from "./decode.ts";
import type { DecodeResult, DecodeTask } from "./decode-task.ts";

/** Nothing is transferred back: the batches' bytes are in shared memory already. */
export default function decodeBodies(task: DecodeTask): DecodeResult {
  return task.map(decodeBody);
}
