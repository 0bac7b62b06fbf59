/**
 * Templates of sealed chunks, day by day: the calling thread counts messages by them. The scan threads list them, once a query has
 * asked for a text in messages.
 */
import { DayTemplates, type TextFilter } from "./daytemplates.ts";
import type { SealedRef } from "./digests.ts";
import type { ListedTemplates } from "./protocol.ts";
import type { ChunkView } from "./view.ts";

/** Lists the templates of chunks; those that have none, or cannot be read, are left out. */
export type ListTemplates = (refs: SealedRef[]) => Promise<ListedTemplates[]>;

/** Chunks whose templates are asked for at a time: some hundred kilobytes each. */
const chunksAtATime = 8;

/** A day that was asked so lately is not let go of for another: else days would push each other out again and again. */
const recentMs = 60_000;

interface Day {
  templates: DayTemplates;
  /** By `performance.now`. */
  usedMs: number;
}

export class TemplateDigests {
  readonly #bytesMax: number;
  /** By folder. */
  readonly #days = new Map<string, Day>();
  #isLearning = false;
  /** There is no room until then. */
  #fullUntilMs = 0;

  /** `bytesMax`: of all days together, about. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether more would be told of a chunk if its templates were learnt. */
  lacks({ dir, entry }: SealedRef): boolean {
    if (this.#days.get(dir)?.templates.has(nameOf(entry)) === true) return false;
    return !this.#isLearning && performance.now() >= this.#fullUntilMs;
  }

  /** How many rows of a chunk pass; undefined where that is not known. */
  rowsOf(filter: TextFilter, { dir, entry }: SealedRef, view: ChunkView): number | undefined {
    const day = this.#days.get(dir);
    if (day === undefined) return undefined;
    day.usedMs = performance.now();
    return day.templates.rowsOf(filter, nameOf(entry), (group) => view.longRuns(group));
  }

  /** Takes in the templates of chunks, as far as there is room, unless it is at that already. */
  async learn(refs: readonly SealedRef[], list: ListTemplates, pause: () => Promise<void>): Promise<void> {
    if (this.#isLearning) return;
    this.#isLearning = true;
    try {
      for (let from = 0; from < refs.length && this.#hasRoom(); from += chunksAtATime) {
        const some = refs.slice(from, from + chunksAtATime);
        const listed = await list(some);
        for (const ref of some) {
          const own = listed.find(({ dir, chunk }) => dir === ref.dir && chunk === nameOf(ref.entry));
          await this.#add(ref, own, pause);
        }
      }
    } finally {
      this.#isLearning = false;
    }
  }

  /** Forgets a day whose folder is about to go. */
  forget(dir: string): void {
    this.#days.delete(dir);
  }

  async #add(
    { dir, entry }: SealedRef,
    listed: ListedTemplates | undefined,
    pause: () => Promise<void>,
  ): Promise<void> {
    const day = this.#days.get(dir) ?? { templates: new DayTemplates(), usedMs: performance.now() };
    this.#days.set(dir, day);
    const { templates } = day;
    // A day whose messages hardly repeat would take the room of all others.
    if (listed === undefined || templates.byteLength > this.#bytesMax / 2) templates.leave(nameOf(entry));
    else await templates.add(listed, pause);
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

/** Tells a chunk from others of its folder. */
export function nameOf({ id, checksum }: SealedRef["entry"]): string {
  return `${id}/${checksum}`;
}
