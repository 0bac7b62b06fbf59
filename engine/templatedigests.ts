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

export class TemplateDigests {
  readonly #bytesMax: number;
  /** By folder, in order of last use. */
  readonly #days = new Map<string, DayTemplates>();
  #isLearning = false;

  /** `bytesMax`: of all days together, about. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether all is known of a chunk that will be. */
  knows({ dir, entry }: SealedRef): boolean {
    return this.#days.get(dir)?.has(nameOf(entry)) === true;
  }

  /** How many rows of a chunk pass; undefined where that is not known. */
  rowsOf(filter: TextFilter, { dir, entry }: SealedRef, view: ChunkView): number | undefined {
    return this.#days.get(dir)?.rowsOf(filter, nameOf(entry), (group) => view.longRuns(group));
  }

  /** Takes in the templates of chunks that are not known yet, unless it is at that already. */
  async learn(refs: readonly SealedRef[], list: ListTemplates, pause: () => Promise<void>): Promise<void> {
    if (this.#isLearning) return;
    this.#isLearning = true;
    try {
      for (let from = 0; from < refs.length; from += chunksAtATime) {
        const some = refs.slice(from, from + chunksAtATime).filter((ref) => !this.knows(ref));
        const listed = some.length === 0 ? [] : await list(some);
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
    const day = this.#days.get(dir) ?? new DayTemplates();
    this.#days.delete(dir);
    this.#days.set(dir, day);
    // A day whose messages hardly repeat would push out all others.
    if (listed === undefined || day.byteLength > this.#bytesMax / 2) day.leave(nameOf(entry));
    else await day.add(listed, pause);
    let bytes = 0;
    for (const each of this.#days.values()) bytes += each.byteLength;
    for (const [oldest, { byteLength }] of this.#days) {
      if (bytes <= this.#bytesMax || oldest === dir) break;
      bytes -= byteLength;
      this.#days.delete(oldest);
    }
  }
}

/** Tells a chunk from others of its folder. */
export function nameOf({ id, checksum }: SealedRef["entry"]): string {
  return `${id}/${checksum}`;
}
