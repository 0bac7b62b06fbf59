/**
 * Templates of sealed chunks, day by day: the calling thread counts messages by them. The scan threads list them, once a query has
 * asked for a text in messages.
 */

import { chunkVersion, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import { DayTemplates } from "./day-templates.ts";
import type { ListedTemplates } from "./template-listing.ts";

/** Where templates are learnt from. */
export interface TemplateSource {
  /** Lists the templates of chunks; those that have none, or are damaged, are left out. */
  list: (refs: SealedChunkRef[]) => Promise<ListedTemplates[]>;
  /** The chunks that a folder has now, by `nameOf`. */
  chunksIn: (dir: string) => ReadonlySet<string>;
}

/** Chunks whose templates are asked for at a time: some hundred kilobytes each. */
const chunksAtATime = 8;

/** A day that was asked so lately is not let go of for another: else days would push each other out again and again. */
const recentMs = 60_000;

interface Day {
  templates: DayTemplates;
  /** By `performance.now`. */
  usedMs: number;
}

export class TemplateSummaries {
  readonly #bytesMax: number;
  /** By folder. */
  readonly #days = new Map<string, Day>();
  #learning: Promise<void> | undefined;
  #isEnding = false;
  /** Nothing more is learnt until then: there is no room, or chunks could not be read. */
  #fullUntilMs = 0;

  /** `bytesMax`: of all days together, about. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether more would be told of a chunk if its templates were learnt. */
  lacks(ref: SealedChunkRef): boolean {
    return !this.#knows(ref) && this.#learning === undefined && performance.now() >= this.#fullUntilMs;
  }

  /** How many rows of a chunk pass; undefined where that is not known. */
  rowsOf(filter: MessageTextFilter, { dir, entry }: SealedChunkRef, view: ChunkView): number | undefined {
    const day = this.#days.get(dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.rowsOf(filter, chunkVersion(entry), (group) => view.tokenFilter(group));
  }

  /** Takes in the templates of chunks, as far as there is room, unless it is at that already. */
  learn(refs: readonly SealedChunkRef[], source: TemplateSource, pause: () => Promise<void>): Promise<void> {
    this.#learning ??= this.#learn(refs, source, pause).finally(() => (this.#learning = undefined));
    return this.#learning;
  }

  /** Leaves off learning; nothing of a chunk is asked behind it until the next query wants more. */
  async endLearning(): Promise<void> {
    this.#isEnding = true;
    // Who learns hears of what failed.
    await this.#learning?.catch(() => undefined);
    this.#isEnding = false;
  }

  /** Forgets a day whose folder is about to go. */
  forget(dir: string): void {
    this.#days.delete(dir);
  }

  #knows({ dir, entry }: SealedChunkRef): boolean {
    return this.#days.get(dir)?.templates.has(chunkVersion(entry)) === true;
  }

  async #learn(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    pause: () => Promise<void>,
  ): Promise<void> {
    // Others may have been learnt since they were found lacking.
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
        const own = listed.find(({ dir, chunk }) => dir === ref.dir && chunk === chunkVersion(ref.entry));
        if (!(await this.#add(ref, own, source, pause))) return;
      }
    }
  }

  /** False where the day was full of chunks that are gone: it is to be learnt anew. */
  async #add(
    { dir, entry }: SealedChunkRef,
    listed: ListedTemplates | undefined,
    { chunksIn }: TemplateSource,
    pause: () => Promise<void>,
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
    // A day whose messages hardly repeat would take the room of all others.
    templates.leave(chunkVersion(entry));
    return true;
  }

  /** Makes room at the cost of days that were not asked of late. */
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
