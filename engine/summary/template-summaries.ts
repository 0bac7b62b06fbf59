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
import { type KnownGroups, KnownTemplates } from "./known-templates.ts";
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

/** Days are dropped until the others take this share of the memory for all, so that the next few have room, too. */
const roomShare = 3 / 4;

/** Sums of several days that are kept: one for each length of time that is asked for in turn. Chosen, not measured. */
const totalsMax = 4;

export class TemplateSummaries {
  readonly #bytesMax: number;
  readonly #known = new KnownTemplates();
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
    return this.#known.rowsOf(filter, dir, chunkIdentity(entry), (group) => view.tokenFilter(group));
  }

  /** The rows of a chunk by template and level; see `KnownTemplates.groupsOf`. */
  groupsOf(
    filters: readonly MessageTextFilter[],
    { dir, entry }: SealedChunkRef,
    view: ChunkView,
  ): KnownGroups | undefined {
    return this.#known.groupsOf(filters, dir, chunkIdentity(entry), (group) => view.tokenFilter(group));
  }

  /** All rows of some chunks of one day by template and level; see `KnownTemplates.totalOf`. */
  dayGroupsOf(refs: readonly SealedChunkRef[], pause: YieldThread): Promise<KnownGroups | undefined> {
    const chunks = refs.map(({ entry }) => chunkIdentity(entry));
    return this.#known.totalOf(refs[0]!.dir, chunks, pause);
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
    if (this.#known.byteLength + this.#totalsBytes + total.byteLength <= this.#bytesMax)
      this.#totals.push(total);
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
    this.#known.drop(dir);
    this.#totals = [];
  }

  get #totalsBytes(): number {
    return this.#totals.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  #knows({ dir, entry }: SealedChunkRef): boolean {
    return this.#known.has(dir, chunkIdentity(entry));
  }

  async #learn(refs: readonly SealedChunkRef[], source: TemplateSource, pause: YieldThread): Promise<void> {
    // Another listing may have added some of them since.
    const lacking = refs.filter((ref) => !this.#knows(ref));
    for (let from = 0; from < lacking.length; from += chunksAtATime) {
      if (this.#isEnding || !(await this.#makeRoom(pause))) return;
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
        await this.#add(ref, own, source, pause);
      }
    }
  }

  /** Adds the templates of one chunk, and drops those of the day's chunks that have been merged away. */
  async #add(
    ref: SealedChunkRef,
    listed: ListedTemplates | undefined,
    { chunksIn }: TemplateSource,
    pause: YieldThread,
  ): Promise<void> {
    const { dir, entry } = ref;
    const present = chunksIn(ref);
    this.#known.dropChunks(dir, (chunk) => present.has(chunk));
    // Without this cap a day whose messages hardly repeat would take the memory of all other days.
    const isKept = listed !== undefined && this.#known.bytesOf(dir) <= this.#bytesMax / 2;
    if (isKept) await this.#known.add(dir, listed, pause);
    else this.#known.skip(dir, chunkIdentity(entry));
  }

  /**
   * Drops the least recently used days until the rest fits into `bytesMax`, with room for others. Returns false where the
   * days that were used within `recentMs` do not fit. Sums of several days give way to days.
   */
  async #makeRoom(pause: YieldThread): Promise<boolean> {
    const nowMs = performance.now();
    const bytes = this.#known.byteLength;
    if (bytes + this.#totalsBytes > this.#bytesMax) this.#totals = [];
    let droppedBytes = 0;
    for (const { dir, usedMs } of bytes > this.#bytesMax ? this.#known.byUse() : []) {
      if (bytes - droppedBytes <= this.#bytesMax * roomShare || usedMs > nowMs - recentMs) break;
      droppedBytes += this.#known.bytesOf(dir);
      this.#known.drop(dir);
    }
    if (droppedBytes > 0 || this.#known.isMostlyDropped) await this.#known.compact(pause);
    const hasRoom = this.#known.byteLength <= this.#bytesMax;
    if (!hasRoom) this.#fullUntilMs = nowMs + recentMs;
    return hasRoom;
  }
}
