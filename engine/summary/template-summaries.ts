/**
 * Keeps the templates of sealed chunks, day by day, so that the query thread can count messages without reading their
 * columns. The scan threads list the templates of a day in the background, after the first query that searched the
 * day's messages for a text.
 */

import { chunkIdentity, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { DayTemplates, type KnownGroups } from "./day-templates.ts";
import type { ListedTemplates } from "./template-listing.ts";
import { type DayGroups, TemplateTotal } from "./template-total.ts";

/** Lists templates on the scan threads, and returns which chunks exist. */
export interface TemplateSource {
  /** Leaves out chunks that have no templates or are damaged. */
  list: (refs: SealedChunkRef[]) => Promise<ListedTemplates[]>;
  /** The identities (`chunkIdentity`) of the chunks that the partition in a folder has now. */
  chunksIn: (partition: Pick<SealedChunkRef, "signal" | "day">) => ReadonlySet<string>;
}

/** Number of chunks in one listing. The templates of a chunk take some hundred kilobytes. */
const chunksAtATime = 8;

/**
 * A day used within this time is not evicted for another day. Otherwise two days that do not fit together would evict
 * each other all the time.
 */
const recentMs = 60_000;

/** Sums of several days that are kept: one for each length of time that is asked for in turn. Chosen, not measured. */
const totalsMax = 4;

/** What is known of one day. */
interface Day {
  templates: DayTemplates;
  /** Last use, by `performance.now`. */
  usedMs: number;
}

export class TemplateSummaries {
  readonly #bytesMax: number;
  /** The days, by the folder of their partition. */
  readonly #days = new Map<string, Day>();
  /** Sums of several days, the last used one last. */
  #totals: TemplateTotal[] = [];
  #learning: Promise<void> | undefined;
  #isEnding = false;
  /**
   * Nothing is listed before this time (by `performance.now`), because there was no room or chunks could not be read.
   */
  #fullUntilMs = 0;

  /** `bytesMax`: cap on the estimated memory of all days together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns whether a chunk's templates are not known yet and can be listed now. */
  lacks(ref: SealedChunkRef): boolean {
    return !this.#knows(ref) && this.#learning === undefined && performance.now() >= this.#fullUntilMs;
  }

  /** Counts the rows of a chunk that pass the filter; undefined where the templates do not decide that. */
  rowsOf(filter: MessageTextFilter, { dir, entry }: SealedChunkRef, view: ChunkView): number | undefined {
    const day = this.#days.get(dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.rowsOf(filter, chunkIdentity(entry), (group) => view.tokenFilter(group));
  }

  /** The rows of a chunk by template and level; see `DayTemplates.groupsOf`. */
  groupsOf(
    filters: readonly MessageTextFilter[],
    { dir, entry }: SealedChunkRef,
    view: ChunkView,
  ): KnownGroups | undefined {
    const day = this.#days.get(dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.groupsOf(filters, chunkIdentity(entry), (group) => view.tokenFilter(group));
  }

  /** All rows of some chunks of one day by template and level; see `DayTemplates.totalOf`. */
  async dayGroupsOf(refs: readonly SealedChunkRef[], pause: YieldThread): Promise<KnownGroups | undefined> {
    const day = this.#days.get(refs[0]!.dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.totalOf(
      refs.map(({ entry }) => chunkIdentity(entry)),
      pause,
    );
  }

  /**
   * The sum of whole days, in order, which is kept while it is among the last used ones and has room beside the days.
   * Undefined where they have too many levels.
   */
  async totalOfDays(days: readonly DayGroups[], pause: YieldThread): Promise<TemplateTotal | undefined> {
    const known = this.#totals.find((total) => total.isOf(days));
    const total = known ?? (await TemplateTotal.of(days, pause));
    if (total === undefined) return undefined;
    this.#totals = this.#totals.filter((other) => other !== total && !other.isOf(days)).slice(1 - totalsMax);
    if (this.#daysBytes + this.#totalsBytes + total.byteLength <= this.#bytesMax) this.#totals.push(total);
    return total;
  }

  /**
   * Lists the templates of chunks until `bytesMax` is reached. Where a listing is already running, waits for that one
   * instead.
   */
  learn(refs: readonly SealedChunkRef[], source: TemplateSource, pause: YieldThread): Promise<void> {
    this.#learning ??= this.#learn(refs, source, pause).finally(() => (this.#learning = undefined));
    return this.#learning;
  }

  /** Ends the running listing. After that no chunk is read until a query starts the next listing. */
  async endLearning(): Promise<void> {
    this.#isEnding = true;
    // Whoever started the listing reports its failure.
    await this.#learning?.catch(() => undefined);
    this.#isEnding = false;
  }

  /** Drops a day whose folder is about to be removed. */
  forget(dir: string): void {
    this.#days.delete(dir);
    this.#totals = [];
  }

  get #daysBytes(): number {
    return this.#days.values().reduce((sum, { templates }) => sum + templates.byteLength, 0);
  }

  get #totalsBytes(): number {
    return this.#totals.reduce((sum, { byteLength }) => sum + byteLength, 0);
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

  /**
   * Adds the templates of one chunk. Returns false where the whole day was dropped, because most of its chunks have
   * been merged away.
   */
  async #add(
    ref: SealedChunkRef,
    listed: ListedTemplates | undefined,
    { chunksIn }: TemplateSource,
    pause: YieldThread,
  ): Promise<boolean> {
    const { dir, entry } = ref;
    const day = this.#days.get(dir) ?? { templates: new DayTemplates(), usedMs: performance.now() };
    this.#days.set(dir, day);
    const { templates } = day;
    if (listed !== undefined && templates.byteLength <= this.#bytesMax / 2) {
      await templates.add(listed, pause);
      return true;
    }
    if (listed !== undefined && templates.isMostlyGone(chunksIn(ref))) {
      this.#days.delete(dir);
      return false;
    }
    // The chunk has no templates, or its day already takes more than half of `bytesMax`. Without this cap a day whose
    // messages hardly repeat would evict all other days.
    templates.skip(chunkIdentity(entry));
    return true;
  }

  /**
   * Evicts the least recently used days until the rest fits into `bytesMax`. Returns false where the days that were
   * used within `recentMs` do not fit. Sums of several days give way to days.
   */
  #hasRoom(): boolean {
    const nowMs = performance.now();
    const byUse = [...this.#days].sort(([, a], [, b]) => a.usedMs - b.usedMs);
    let bytes = this.#daysBytes;
    if (bytes + this.#totalsBytes > this.#bytesMax) this.#totals = [];
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
