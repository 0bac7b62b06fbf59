/**
 * A token filter of which only the pages are read that a token's pieces lie in. A first search for an id so reads one page
 * in twenty; whoever searches again and again reads the whole filter once instead.
 */
import { Failure } from "../failure.ts";
import type { ValuePages } from "../files/value-pages.ts";
import { filterBlockBytes, mayHoldHash, placeOfHash } from "../vector/membership-filter.ts";
import type { LongToken, TokenSearch } from "./token-filter.ts";

/** Hardly a filter has more sections, so their ends are read together with their number. */
const usualSections = 255;

export class PagedTokenFilter implements TokenSearch {
  readonly #pages: ValuePages;
  /** Where the token filter begins in the filter. */
  readonly #from: number;
  /** Where each block's section begins, then the end of the last. */
  #sections: Uint32Array | undefined;
  #lastToken: LongToken | undefined;
  #lastBlocks: readonly number[] = [];
  /** Tokens that were looked for. */
  lookups = 0;

  constructor(pages: ValuePages, from: number) {
    this.#pages = pages;
    this.#from = from;
  }

  mayContain(pieces: LongToken): boolean {
    return this.findBlocks(pieces).length > 0;
  }

  findBlocks(pieces: LongToken): readonly number[] {
    const last = this.#lastToken;
    if (last?.length === pieces.length && pieces.every((piece, i) => piece === last[i]))
      return this.#lastBlocks;
    this.lookups++;
    this.#sections ??= this.#readSections();
    const sections = this.#sections;
    let blocks = Array.from({ length: sections.length - 1 }, (_, block) => block);
    for (const piece of pieces) if (blocks.length > 0) blocks = this.#keepHolding(blocks, piece, sections);
    this.#lastToken = pieces;
    this.#lastBlocks = blocks;
    return blocks;
  }

  /** Those of some blocks whose section may hold a piece. */
  #keepHolding(blocks: readonly number[], piece: number, sections: Uint32Array): number[] {
    const ranges = blocks.map((block) => {
      const from = sections[block]! + placeOfHash(piece, sections[block + 1]! - sections[block]!);
      return { from, to: from + filterBlockBytes };
    });
    const read = this.#pages.read(ranges);
    return blocks.filter((_, i) => mayHoldHash(read[i]!, piece));
  }

  #readSections(): Uint32Array {
    const usual = this.#readWords(1 + usualSections);
    const count = usual[0] ?? 0;
    const begin = this.#from + 4 * (1 + count);
    if (begin > this.#pages.byteLength) throw new Failure("damage", "message: a token filter has no end");
    const words = count < usual.length ? usual : this.#readWords(1 + count);
    return Uint32Array.of(begin, ...words.slice(1, 1 + count).map((end) => begin + end));
  }

  /** The first words of the token filter, as many as there are. */
  #readWords(count: number): number[] {
    const to = Math.min(this.#from + 4 * count, this.#pages.byteLength);
    const [bytes] = this.#pages.read([{ from: this.#from, to }]);
    const view = new DataView(bytes!.buffer, bytes!.byteOffset, bytes!.byteLength);
    return Array.from({ length: bytes!.byteLength >> 2 }, (_, i) => view.getUint32(4 * i, true));
  }
}
