/**
 * A token filter that stays on disk. A lookup reads only the pages that hold the bits of the token's pieces, so that the
 * first search for an id reads a small part of each filter.
 */
import { Failure } from "../failure.ts";
import type { ValuePages } from "../files/value-pages.ts";
import { filterBlockBytes, mayHoldHash, placeOfHash } from "../vector/membership-filter.ts";
import { isSameToken, type LongToken, type TokenSearch } from "./token-filter.ts";

/**
 * The number of sections and so many of their ends are read at once. Filters with more sections are rare and take a second
 * read.
 */
const usualSections = 255;

export class PagedTokenFilter implements TokenSearch {
  readonly #pages: ValuePages;
  /** Where the token filter begins in the filter. */
  readonly #from: number;
  /** For each block of texts where its section begins in the filter, then where the last section ends. */
  #sections: Uint32Array | undefined;
  #lastToken: LongToken | undefined;
  #lastBlocks: readonly number[] = [];
  /** Number of lookups that read pages. */
  lookups = 0;

  constructor(pages: ValuePages, from: number) {
    this.#pages = pages;
    this.#from = from;
  }

  mayContain(pieces: LongToken): boolean {
    return this.findBlocks(pieces).length > 0;
  }

  findBlocks(pieces: LongToken): readonly number[] {
    if (isSameToken(pieces, this.#lastToken)) return this.#lastBlocks;
    this.lookups++;
    this.#sections ??= this.#readSections();
    const sections = this.#sections;
    let blocks = Array.from({ length: sections.length - 1 }, (_, block) => block);
    for (const piece of pieces) if (blocks.length > 0) blocks = this.#keepHolding(blocks, piece, sections);
    this.#lastToken = pieces;
    this.#lastBlocks = blocks;
    return blocks;
  }

  /** Returns those of the blocks whose section may hold a piece. */
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

  /** The first u32 words of the token filter, `count` of them, or fewer where the filter is shorter. */
  #readWords(count: number): number[] {
    const to = Math.min(this.#from + 4 * count, this.#pages.byteLength);
    const [bytes] = this.#pages.read([{ from: this.#from, to }]);
    const view = new DataView(bytes!.buffer, bytes!.byteOffset, bytes!.byteLength);
    return Array.from({ length: bytes!.byteLength >> 2 }, (_, i) => view.getUint32(4 * i, true));
  }
}
