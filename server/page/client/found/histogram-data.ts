/** The counts of a run by time, and by level or the field that is asked for. */

import type { HistogramAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import type { SearchRun } from "./search-state.ts";

/** What is counted. */
interface Counting {
  run: SearchRun;
  /** The field that splits the bars; null for the level. */
  by: string | null;
}

/** A histogram, and what it counts. */
export interface CountedRun extends Counting {
  histogram: HistogramAnswer;
}

const valuesMax = 8;

const loading = makeLoading<Counting, CountedRun>(async ({ run, by }, signal) => {
  const split = by === null ? {} : { by, top: valuesMax };
  const histogram = await ask<HistogramAnswer>("/api/v1/query/histogram", {
    body: { ...run, ...split },
    signal,
  });
  return { run, by, histogram };
});

export const {
  answer: counted,
  problem: histogramProblem,
  isLoading: isCounting,
  load: loadHistogram,
} = loading;
