/** What the requests of all transports share: none of them may take memory, places or tries away from the others. */

import type { MemoryBudget } from "../../engine/index.ts";
import { RateLimiter } from "../throttle/rate-limiter.ts";
import { SharedBudget } from "../throttle/shared-budget.ts";
import { failuresBurstMax, failuresPerSecondMax, requestsInFlightMax } from "./limits.ts";

export interface RequestBounds {
  /** Bytes of the bodies of all requests. */
  bodyBytes: SharedBudget;
  /** Places of the requests that are being answered. */
  places: SharedBudget;
  /** Limits the failed authentications of each network. */
  failures: RateLimiter;
}

export function makeRequestBounds({ requestBytes }: Pick<MemoryBudget, "requestBytes">): RequestBounds {
  return {
    bodyBytes: new SharedBudget(requestBytes),
    places: new SharedBudget(requestsInFlightMax),
    failures: new RateLimiter({
      perSecond: failuresPerSecondMax,
      burst: failuresBurstMax,
      what: "requests without a right token",
      elapsed: () => performance.now(),
    }),
  };
}
