import type { Json } from "../../engine/index.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";

/** Fires that ask for an investigation, by the fire's id; whoever investigates takes them from here. */
const table = "investigation-requests";

/** Requests an investigation of each fire whose alert wants one. */
export const investigationRequests: FireSubscriber = {
  prepare: ({ firstSeen, nowMs }) => ({
    changes: firstSeen
      .filter(({ alert }) => alert?.investigateOnFire === true)
      .map(({ fire: { id, alertId } }) => {
        const value: Json = { fireId: id, alertId, requestedAtMs: nowMs };
        return { table, id, value };
      }),
    stored: () => undefined,
  }),
};
