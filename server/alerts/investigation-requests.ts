/** Stores a request for an investigation of each fire whose alert asks for one. */
import type { Json, State, StateChange } from "../../engine/index.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { investigationRequestsMax } from "./limits.ts";

/** The requests, by the id of the fire. Whoever investigates reads them from here. */
const table = "investigation-requests";

/** The newest requests are kept, up to `investigationRequestsMax`. */
export function investigationRequests(state: State): FireSubscriber {
  const requestedAtMs = (value: Json) => (value as { requestedAtMs: number }).requestedAtMs;
  const stored = state.list(table).toSorted((a, b) => requestedAtMs(a.value) - requestedAtMs(b.value));
  /** Fire ids, the oldest first. */
  const kept = new Set(stored.map(({ id }) => id));
  return {
    prepare: ({ firstSeen, nowMs }) => {
      const changes = firstSeen
        .filter(({ alert }) => alert?.investigateOnFire === true)
        .map(({ fire: { id, alertId } }): StateChange => {
          kept.add(id);
          return { table, id, value: { fireId: id, alertId, requestedAtMs: nowMs } };
        });
      if (changes.length === 0) return { changes, stored: () => undefined };
      // What a failed commit leaves behind is removed after the next start.
      const removed = kept
        .keys()
        .take(Math.max(0, kept.size - investigationRequestsMax))
        .map((id): StateChange => ({ table, id, value: undefined }))
        .toArray();
      for (const { id } of removed) kept.delete(id);
      return { changes: [...changes, ...removed], stored: () => undefined };
    },
  };
}
