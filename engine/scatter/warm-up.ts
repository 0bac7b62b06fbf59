/**
 * A warm-up: queries that somebody asks before anybody waits for an answer, so that every thread has compiled the code that
 * answers them. They read real chunks, and keep none of what they read.
 */
import { timeMs } from "../model/day.ts";
import type { Signal } from "../model/signal.ts";
import type { ScatterContext } from "./scatter-gather.ts";

/** A half-open range of time, in Unix milliseconds. */
export interface WarmUpRange {
  startMs: number;
  endMs: number;
}

/** Ranges of one warm-up. Code that has run only once or twice is still interpreted in part. */
const rangesMax = 2;
/** Chunks of one range: enough for each of a few threads to have one. */
const chunksOfRange = 2;

/** Its queries are those with the limit `isWarmUp`. */
export class WarmUp {
  readonly #context: ScatterContext;

  constructor(context: ScatterContext) {
    this.#context = context;
  }

  /** Ranges of the oldest chunks of the newest day, for one round of queries each; none where nothing is sealed. */
  ranges(signal: Signal): WarmUpRange[] {
    const sealed = this.#context.catalog
      .partitions(signal)
      .filter(({ manifest }) => manifest.chunks.length > 0);
    const newest = sealed.at(-1);
    if (newest === undefined) return [];
    const chunks = [...newest.manifest.chunks].sort((a, b) => a.timeNsMin - b.timeNsMin);
    return Array.from({ length: Math.min(rangesMax, Math.ceil(chunks.length / chunksOfRange)) }, (_, i) => {
      const ofRange = chunks.slice(i * chunksOfRange, (i + 1) * chunksOfRange);
      const lastNs = Math.max(...ofRange.map(({ timeNsMax }) => timeNsMax));
      return { startMs: timeMs(newest.day, ofRange[0]!.timeNsMin), endMs: timeMs(newest.day, lastNs) + 1 };
    });
  }

  /** Frees what the queries of a round read; they must have ended. Throws Failure "folder" where the store is closed. */
  async endRound(): Promise<void> {
    const { queryThread, threads } = this.#context;
    queryThread.endWarmUpRound();
    await Promise.all(threads.map((thread) => thread.run<void>({ kind: "end-warm-up-round" })));
  }
}
