/** What the machine gives this process: in a container, what the container may use. */

import { availableParallelism, totalmem } from "node:os";
import { scanThreadMemoryBytes } from "../limits.ts";

/** Bytes of memory that this process may use. */
export function readMemoryBytes(): number {
  // Zero where it is not known, and a number without meaning where nothing is set.
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/** One for each core that this process may use, as far as there is memory for so many. */
export function countScanThreads(): number {
  const affordable = Math.floor(readMemoryBytes() / scanThreadMemoryBytes);
  return Math.max(1, Math.min(availableParallelism(), affordable));
}
