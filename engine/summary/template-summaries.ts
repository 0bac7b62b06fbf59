/**
 * Keeps the templates of sealed chunks, day by day, so that the query thread counts messages without their columns. The scan threads
 * list a day's templates in the background, after the first query that searched its messages for a text.
 */

import { chunkIdentity, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { DayTemplates } from "./day-templates.ts";
import type { ListedTemplates } from "./template-listing.ts";

/** Lists templates on the scan threads, and knows which chunks there are. */
export interface TemplateSource {
  /** Leaves out chunks that have no templates or are damaged. */
  list: (refs: SealedChunkRef[]) => Promise<ListedTemplates[]>;
  /** The versions of the chunks that a partition has now (`chunkVersion`). */
  chunksIn: (dir: string) => ReadonlySet<string>;
}

/** Chunks whose templates are listed at a time: some hundred kilobytes each. */
const chunksAtATime = 8;

/** A day used within this time is not evicted for another day: two days that do not fit together would evict each other all the time. */
const recentMs = 60_000;

/** What is known of one day. */
interface Day {
  templates: DayTemplates;
  /** Last use, by `performance.now`. */
  usedMs: number;
}

export class TemplateSummaries {
  readonly #bytesMax: number;
  /** By the partition's folder. */
  readonly #days = new Map<string, Day>();
  #learning: Promise<void> | undefined;
  #isEnding = false;
  /** Nothing is listed before this time: there was no room, or chunks could not be read. */
  #fullUntilMs = 0;

  /** `bytesMax`: an estimate for all days together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether listing the templates of a chunk would help, and is possible now. */
  lacks(ref: SealedChunkRef): boolean {
    return !this.#knows(ref) && this.#learning === undefined && performance.now() >= this.#fullUntilMs;
  }

  /** The rows of a chunk that pass the filter; undefined where that is not known. */
  rowsOf(filter: MessageTextFilter, { dir, entry }: SealedChunkRef, view: ChunkView): number | undefined {
    const day = this.#days.get(dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.rowsOf(filter, chunkIdentity(entry), (group) => view.tokenFilter(group));
  }

  /** Lists the templates of chunks, as far as there is room; joins a listing that is under way. */
  learn(refs: readonly SealedChunkRef[], source: TemplateSource, pause: YieldThread): Promise<void> {
    this.#learning ??= this.#learn(refs, source, pause).finally(() => (this.#learning = undefined));
    return this.#learning;
  }

  /** Ends a listing that is under way; after that no chunk is read until a query starts the next one. */
  async endLearning(): Promise<void> {
    this.#isEnding = true;
    // Whoever started the listing reports its failure.
    await this.#learning?.catch(() => undefined);
    this.#isEnding = false;
  }

  /** Drops a day whose folder is about to be removed. */
  forget(dir: string): void {
    this.#days.delete(dir);
  }

  #knows({ dir, entry }: SealedChunkRef): boolean {
    return this.#days.get(dir)?.templates.has(chunkIdentity(entry)) === true;
  }

  async #learn(refs: readonly SealedChunkRef[], source: TemplateSource, pause: YieldThread): Promise<void> {
    // Another listing may have added some of them since.
    const lacking = refs.filter((ref) => !this.#knows(ref));
    for (let from = 0; from < lacking.length && !this.#isEnding && this.#hasRoom(); from += chunksAtATime) {
      const some = lacking.slice(from, from + chunksAtATime);
      let listed: ListedTemplates[];
      try {
        listed = await source.list(some);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        this.#fullUntilMs = performance.now() + recentMs;
        return;
      }
      for (const ref of some) {
        if (this.#isEnding) return;
        const own = listed.find(({ dir, chunk }) => dir === ref.dir && chunk === chunkIdentity(ref.entry));
        if (!(await this.#add(ref, own, source, pause))) return;
      }
    }
  }

  /** Adds the templates of one chunk; false where the day was dropped because most of its chunks have been merged away. */
  async #add(
    { dir, entry }: SealedChunkRef,
    listed: ListedTemplates | undefined,
    { chunksIn }: TemplateSource,
    pause: YieldThread,
  ): Promise<boolean> {
    const day = this.#days.get(dir) ?? { templates: new DayTemplates(), usedMs: performance.now() };
    this.#days.set(dir, day);
    const { templates } = day;
    if (listed !== undefined && templates.byteLength <= this.#bytesMax / 2) {
      await templates.add(listed, pause);
      return true;
    }
    if (listed !== undefined && templates.isMostlyGone(chunksIn(dir))) {
      this.#days.delete(dir);
      return false;
    }
    // A day may take half of the room: one whose messages hardly repeat would evict all others.
    templates.skip(chunkIdentity(entry));
    return true;
  }

  /** Evicts days that were not used lately until the rest fits; false where it does not. */
  #hasRoom(): boolean {
    const nowMs = performance.now();
    const byUse = [...this.#days].sort(([, a], [, b]) => a.usedMs - b.usedMs);
    let bytes = byUse.reduce((sum, [, { templates }]) => sum + templates.byteLength, 0);
    for (const [dir, { templates, usedMs }] of byUse) {
      if (bytes <= this.#bytesMax) return true;
      if (usedMs > nowMs - recentMs) break;
      bytes -= templates.byteLength;
      this.#days.delete(dir);
    }
    if (bytes > this.#bytesMax) this.#fullUntilMs = nowMs + recentMs;
    return bytes <= this.#bytesMax;
  }
}
