/** The part that reads telemetry for callers: searches of stored rows, and tails of arriving rows. */

import { bodySignals } from "../../query/index.ts";
import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import type { StoragePart } from "../storage/part.ts";
import { aroundRoute } from "./around-route.ts";
import { bodiesRoute } from "./bodies-route.ts";
import { compareRoute } from "./compare-route.ts";
import { durationsRoute } from "./durations-route.ts";
import { exportRoutes } from "./export-routes.ts";
import { fieldsRoute } from "./fields-route.ts";
import { histogramRoute } from "./histogram-route.ts";
import { searchDrainMsMax } from "./limits.ts";
import { logsRoute } from "./logs-route.ts";
import { patternsRoute } from "./patterns-route.ts";
import { Searches } from "./searches.ts";
import { serviceMapRoute } from "./service-map-route.ts";
import { Tails } from "./tail/tails.ts";
import { timeseriesRoute } from "./timeseries-route.ts";
import { traceRoute } from "./trace-route.ts";
import { tracesRoute } from "./traces-route.ts";
import { valuesRoute } from "./values-route.ts";
import { visibleRoute } from "./visible-route.ts";

/** Limits of one search. */
export interface SearchSettings {
  /** A search that takes longer is ended with 503. */
  queryDeadlineMs: number;
  /** Memory that one search may hold. */
  queryMemoryBytes: number;
}

export interface SearchPart extends Part {
  /** Runs and bounds searches, also those of other parts. */
  searches: Searches;
}

export function searchPart(
  { queryDeadlineMs: deadlineMs, queryMemoryBytes: memoryBytes }: SearchSettings,
  { store, memory }: Pick<StoragePart, "store" | "memory">,
  control: Pick<ControlPart, "storeFor" | "stepsFor">,
  metrics: Metrics,
): SearchPart {
  const storeFor = (caller: Caller) => control.storeFor(store, caller);
  const options = { storeFor, metrics, deadlineMs, memoryBytes };
  const searches = new Searches(options);
  const tails = new Tails({
    ...options,
    store,
    stepsFor: control.stepsFor,
    waitingBytesMax: memory.tailBytes,
  });
  return {
    searches,
    routes: [
      logsRoute(searches),
      timeseriesRoute(searches),
      patternsRoute(searches),
      tracesRoute(searches),
      ...bodySignals.map((signal) => bodiesRoute(searches, signal)),
      aroundRoute(searches),
      histogramRoute(searches),
      fieldsRoute(searches),
      valuesRoute(searches),
      compareRoute(searches),
      durationsRoute(searches),
      serviceMapRoute(searches),
      ...exportRoutes(searches),
      visibleRoute(searches),
      traceRoute(searches),
      tails.route(),
    ],
    run: () => tails.run(),
    close: () => {
      tails.close();
      // Running searches may still end, but do not get the whole deadline of a request.
      setTimeout(() => searches.end(), searchDrainMsMax).unref();
    },
  };
}
