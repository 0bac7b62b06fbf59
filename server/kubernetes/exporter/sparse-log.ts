/** A log in which the same line stands once in a while: what one file of a node does wrong, it does each second. */

import { linesRememberedMax, sameLineMs } from "./limits.ts";

/** `elapsedMs` is a monotonic clock. */
export function logOnce(log: (message: string) => void, elapsedMs: () => number): (message: string) => void {
  const lastMs = new Map<string, number>();
  return (message) => {
    const nowMs = elapsedMs();
    const last = lastMs.get(message);
    if (last !== undefined && nowMs - last < sameLineMs) return;
    lastMs.delete(message);
    lastMs.set(message, nowMs);
    if (lastMs.size > linesRememberedMax) lastMs.delete(lastMs.keys().next().value!);
    log(message);
  };
}
