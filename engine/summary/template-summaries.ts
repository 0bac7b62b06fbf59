/**
 * Keeps the templates of sealed chunks, day by day, so that the query thread can count messages without reading their
 * columns. The scan threads list the templates of a day in the background, after the first query that searched the
 * day's messages for a text, or counted them by template.
 */

import { chunkIdentity, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import { dayName } from "../model/day.ts";
import type { Signal } from "../model/signal.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import type { AttributeGroups } from "./attribute-groups.ts";
import { type DayGroups, DaysSum } from "./days-sum.ts";
import { type KnownGroups, KnownTemplates } from "./known-templates.ts";
import { splitFrames } from "./stored-templates.ts";
import type { ListedTemplates, TemplatesTask } from "./template-listing.ts";

/** Lists templates on the scan threads, keeps them in files, and returns which chunks exist. */
export interface TemplateSource {
  /** Leaves out chunks that have no templates or are damaged. */
  list: (refs: SealedChunkRef[], options: ListingOptions) => Promise<ListedTemplates[]>;
  /** The identities (`chunkIdentity`) of the chunks that the partition in a folder has now. */
  chunksIn: (partition: Pick<SealedChunkRef, "signal" | "day">) => ReadonlySet<string>;
  /** Whether the day is the newest one, which most new chunks belong to. */
  isNewest: (partition: Pick<SealedChunkRef, "signal" | "day">) => boolean;
  /** Reads a day's template file. Undefined where there is none, or it is longer than `bytesMax`. Throws where that fails. */
  read: (dir: string, bytesMax: number) => Promise<Uint8Array | undefined>;
  /** Replaces a day's template file. */
  write: (dir: string, frames: readonly Uint8Array[]) => Promise<void>;
}

/** What is listed of chunks. */
export type ListingOptions = Pick<TemplatesTask, "withAttributes">;
const templatesAlone: ListingOptions = { withAttributes: false };

/** Number of chunks in one listing. The templates of a chunk take some hundred kilobytes. */
const chunksAtATime = 8;

/**
 * A day used within this time is not evicted for another day. Otherwise two days that do not fit together would evict
 * each other all the time.
 */
const recentMs = 60_000;

/** Days are dropped until the others take this share of the memory for all, so that the next few have room, too. */
const roomShare = 3 / 4;

/** The most that one day takes. Otherwise a day whose messages hardly repeat would take the memory of all others. */
const dayShare = 1 / 2;

/** The file of the newest day is rewritten once it lacks 1/8 of the known chunks or more. */
const storedChunksEach = 8;

/** Sums of several days that are kept: one for each length of time that is asked for in turn. Chosen, not measured. */
const sumsMax = 4;

export class TemplateSummaries {
  readonly #bytesMax: number;
  readonly #known = new KnownTemplates();
  /** Sums of several days, the last used one last. */
  #sums: DaysSum[] = [];
  /** The identities of the chunks in each file that was read or written, by the folder of the day. */
  readonly #stored = new Map<string, Set<string>>();
  #learning: Promise<void> | undefined;
  #recalling: Promise<void> | undefined;
  #isEnding = false;
  /**
   * Nothing is listed before this time (by `performance.now`), because there was no room or chunks could not be read.
   */
  #fullUntilMs = 0;

  /** `bytesMax`: cap on the estimated memory of all days together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns whether the chunk's row counts by template and level are in memory. */
  hasGroups({ dir, entry }: SealedChunkRef): boolean {
    return this.#known.hasGroups(dir, chunkIdentity(entry));
  }

  /** Returns whether a listing would tell something of a chunk that is not known yet, and can be made now. */
  lacks(ref: SealedChunkRef, options: ListingOptions = templatesAlone): boolean {
    return (
      this.#isUnlisted(ref, options) && this.#learning === undefined && performance.now() >= this.#fullUntilMs
    );
  }

  /** Counts the rows of a chunk that pass the filter; undefined where the templates do not decide that. */
  rowsOf(filter: MessageTextFilter, { dir, entry }: SealedChunkRef, view: ChunkView): number | undefined {
    return this.#known.rowsOf(filter, dir, chunkIdentity(entry), filtersOf(view));
  }

  /** The rows of a chunk by template and level; see `KnownTemplates.groupsOf`. */
  groupsOf(
    filters: readonly MessageTextFilter[],
    { dir, entry }: SealedChunkRef,
    view: ChunkView,
  ): KnownGroups | undefined {
    return this.#known.groupsOf(filters, dir, chunkIdentity(entry), filtersOf(view));
  }

  /** Which attributes the rows of each template have in a chunk; undefined where that is not known. */
  attributesOf({ dir, entry }: SealedChunkRef): AttributeGroups | undefined {
    return this.#known.attributesOf(dir, chunkIdentity(entry));
  }

  /** All rows of some chunks of one day by template and level; undefined where that is not known. */
  async dayGroupsOf(refs: readonly SealedChunkRef[], pause: YieldThread): Promise<DayGroups | undefined> {
    const [{ dir, day }] = refs as [SealedChunkRef, ...SealedChunkRef[]];
    const chunks = refs.map(({ entry }) => chunkIdentity(entry));
    const found = await this.#known.dayGroupsOf(dir, chunks, pause);
    return found && { ...found, day };
  }

  /**
   * The sum of whole days, in order, which is kept while it is among the last used ones and has room beside the days.
   * Undefined where they have too many levels.
   */
  async sumOfDays(days: readonly DayGroups[], pause: YieldThread): Promise<DaysSum | undefined> {
    const known = this.#sums.find((sum) => sum.isOf(days));
    const sum = known ?? (await DaysSum.of(days, pause));
    if (sum === undefined) return undefined;
    this.#sums = [...this.#sums.filter((other) => other !== sum && !other.isOf(days)), sum].slice(-sumsMax);
    while (this.#sums.length > 0 && this.#known.byteLength + this.#sumsBytes > this.#bytesMax)
      this.#sums.shift();
    return sum;
  }

  /**
   * Lists the templates of chunks until `bytesMax` is reached. Where a listing is already running, waits for that one
   * instead.
   */
  learn(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: YieldThread,
    options: ListingOptions = templatesAlone,
  ): Promise<void> {
    this.#learning ??= this.#learn(refs, source, pause, options).finally(() => (this.#learning = undefined));
    return this.#learning;
  }

  /** Returns whether some of these chunks have unknown templates that a file may have, and files can be read now. */
  canRecall(refs: readonly SealedChunkRef[]): boolean {
    if (this.#learning !== undefined || this.#recalling !== undefined) return false;
    const isUnread = (ref: SealedChunkRef) => !this.#stored.has(ref.dir) && !this.#knows(ref);
    return performance.now() >= this.#fullUntilMs && refs.some(isUnread);
  }

  /**
   * Reads the template files of the days that these chunks belong to, one after the other, until memory is full or `isOver`
   * returns true. May be called only where `canRecall` returns true. `pause` must not throw.
   */
  recall(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: YieldThread,
    isOver: () => boolean,
  ): Promise<void> {
    this.#recalling = this.#recall(refs, source, pause, isOver).finally(() => (this.#recalling = undefined));
    return this.#recalling;
  }

  /** Stops listing templates and reading template files, and waits until both have ended. The next query may start them again. */
  async endLearning(): Promise<void> {
    this.#isEnding = true;
    // Whoever started them reports their failures.
    await Promise.allSettled([this.#learning, this.#recalling]);
    this.#isEnding = false;
  }

  /** Drops a day whose folder is about to be removed. */
  forget(dir: string): void {
    this.#stored.delete(dir);
    if (this.#known.drop(dir)) this.#sums = [];
  }

  get #sumsBytes(): number {
    return this.#sums.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Whether a listing would add something. Attributes are listed only for chunks whose templates are known. */
  #isUnlisted(ref: SealedChunkRef, { withAttributes }: ListingOptions): boolean {
    return withAttributes
      ? this.#known.lacksAttributes(ref.dir, chunkIdentity(ref.entry))
      : !this.#knows(ref);
  }

  /** Returns whether a chunk's templates are known, or known not to be kept. */
  #knows({ dir, entry }: SealedChunkRef): boolean {
    return this.#known.has(dir, chunkIdentity(entry));
  }

  async #learn(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: YieldThread,
    options: ListingOptions,
  ): Promise<void> {
    await this.#recalling?.catch(() => undefined);
    await this.#recall(refs, source, pause, () => false);
    await this.#list(refs, source, pause, options);
    for (const [ref] of daysOf(refs)) if (!this.#isEnding) await this.#store(ref!, source, pause);
  }

  async #recall(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: YieldThread,
    isOver: () => boolean,
  ): Promise<void> {
    const goesOn = () => !this.#isEnding && !isOver();
    for (const day of daysOf(refs)) {
      const [ref] = day as [SealedChunkRef];
      if (this.#stored.has(ref.dir) || day.every((each) => this.#knows(each))) continue;
      if (!goesOn() || !(await this.#makeRoom(pause))) return;
      const found = await this.#addStored(ref, source, pause, goesOn);
      if (goesOn()) this.#stored.set(ref.dir, new Set(found));
    }
  }

  /** Adds the chunks of a day's file. A file that cannot be used, for whatever reason, counts as missing. */
  async #addStored(
    ref: SealedChunkRef,
    source: TemplateSource,
    pause: YieldThread,
    goesOn: () => boolean,
  ): Promise<string[]> {
    const { dir, signal, day } = ref;
    const present = source.chunksIn(ref);
    const bytesMax = this.#bytesMax * dayShare;
    const options = { isWanted: (chunk: string) => present.has(chunk), bytesMax, goesOn };
    try {
      const file = await source.read(dir, bytesMax);
      const frames = file === undefined ? [] : splitFrames(file);
      return await this.#known.addPacked({ dir, name: nameOf(signal, day) }, frames, options, pause);
    } catch {
      return [];
    }
  }

  /** Writes the file of a day, unless it has all known chunks, or nearly all of those of the newest day. */
  async #store(ref: SealedChunkRef, source: TemplateSource, pause: YieldThread): Promise<void> {
    const { dir, signal, day } = ref;
    const chunks = this.#known.packable(dir);
    const stored = this.#stored.get(dir);
    const lacking = chunks.filter((chunk) => stored?.has(chunk) !== true);
    const isSmall = source.isNewest(ref) && lacking.length * storedChunksEach < chunks.length;
    if (lacking.length === 0 || isSmall) return;
    const frames = await this.#known.pack({ dir, name: nameOf(signal, day) }, pause);
    // Also where that fails: it is not tried again for the same chunks.
    this.#stored.set(dir, new Set(chunks));
    if (frames !== undefined) await source.write(dir, frames);
  }

  async #list(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: YieldThread,
    options: ListingOptions,
  ): Promise<void> {
    // Another listing may have added some of them since.
    const lacking = refs.filter((ref) => this.#isUnlisted(ref, options));
    for (let from = 0; from < lacking.length; from += chunksAtATime) {
      if (this.#isEnding || !(await this.#makeRoom(pause))) return;
      const some = lacking.slice(from, from + chunksAtATime);
      let listed: ListedTemplates[];
      try {
        listed = await source.list(some, options);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (options.withAttributes)
          for (const ref of some) this.#known.skip(ref.dir, chunkIdentity(ref.entry));
        else this.#fullUntilMs = performance.now() + recentMs;
        return;
      }
      for (const day of Map.groupBy(some, ({ dir }) => dir).values()) this.#dropMerged(day[0]!, source);
      for (const ref of some) {
        if (this.#isEnding) return;
        const own = listed.find(({ dir, chunk }) => dir === ref.dir && chunk === chunkIdentity(ref.entry));
        await this.#add(ref, own, pause);
      }
    }
  }

  /** Drops what is known of the day's chunks that have been merged away. */
  #dropMerged(ref: SealedChunkRef, { chunksIn }: TemplateSource): void {
    const present = chunksIn(ref);
    this.#known.dropChunks(ref.dir, (chunk) => present.has(chunk));
  }

  async #add(
    { dir, entry }: SealedChunkRef,
    listed: ListedTemplates | undefined,
    pause: YieldThread,
  ): Promise<void> {
    const isKept = listed !== undefined && this.#known.bytesOf(dir) <= this.#bytesMax * dayShare;
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
    if (bytes + this.#sumsBytes > this.#bytesMax) this.#sums = [];
    let droppedBytes = 0;
    for (const { dir, usedMs } of bytes > this.#bytesMax ? this.#known.byUse() : []) {
      if (bytes - droppedBytes <= this.#bytesMax * roomShare || usedMs > nowMs - recentMs) break;
      droppedBytes += this.#known.bytesOf(dir);
      this.#known.drop(dir);
      this.#stored.delete(dir);
    }
    if (droppedBytes > 0 || this.#known.isMostlyDropped) await this.#known.compact(pause);
    const hasRoom = this.#known.byteLength <= this.#bytesMax;
    if (!hasRoom) this.#fullUntilMs = nowMs + recentMs;
    return hasRoom;
  }
}

/** The filters of a chunk's variables. */
function filtersOf(view: ChunkView): GroupFilters {
  return { ngrams: (group) => view.ngramFilter(group), tokens: (group) => view.tokenFilter(group) };
}

/** The chunks of each day. */
function daysOf(refs: readonly SealedChunkRef[]): SealedChunkRef[][] {
  return [...Map.groupBy(refs, ({ dir }) => dir).values()];
}

/** The key of the frames of a day's file. */
function nameOf(signal: Signal, day: number): string {
  return `${signal}/${dayName(day)}`;
}
