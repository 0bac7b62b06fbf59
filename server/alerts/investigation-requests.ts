/** Stores a request for an investigation of each fire whose alert asks for one. */
import type { Json } from "../../engine/index.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";

/** The requests, by the id of the fire. Whoever investigates reads them from here. */
const table = "investigation-requests";

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
