/**
 * A token filter records which long tokens (ids and numbers: long sequences of digits) some texts contain. The texts
 * are divided into blocks, so a search for an id reads only the few blocks that may contain the id. Each block has a
 * membership filter over pieces of its tokens. Which pieces are taken depends only on the bytes around them (as in
 * "winnowing" by Schleimer, Wilkerson and Aiken). Therefore a part of a token is found by the pieces that lie in this
 * part.
 */
import assert from "node:assert/strict";
import type { Kernels } from "../kernels/contract.ts";
import { growArray } from "../vector/arrays.ts";
import { buildMembershipFilter } from "../vector/membership-filter.ts";

/** Number of texts in every block but the last, where the texts are variables. Part of the format. */
export const textsPerBlock = 16_384;

/** The range of texts from the first to the last of some blocks, which are in ascending order. */
export function textsOfBlocks(blocks: readonly number[]): { from: number; to: number } {
  return { from: blocks[0]! * textsPerBlock, to: (blocks.at(-1)! + 1) * textsPerBlock };
}

/** A sequence of at least this many decimal digits is a long token. Any nine digits in a row are one of its pieces. */
const decimalTokenMin = 9;
const decimalPieceBase = 10 ** (decimalTokenMin - 1);
/**
 * A sequence of at least this many hexadecimal digits, with a letter among them, is a long token. From any twelve
 * digits in a row at least one piece of eight digits is taken.
 */
const hexTokenMin = 12;
const hexPieceLength = 8;
const hexWindow = hexTokenMin - hexPieceLength + 1;

/** 0 to 9 for a decimal digit, 10 to 15 for one of the letters in either case; 16 for any other byte. */
const hexDigitValues = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[0-9a-fA-F]/.test(character) ? Number.parseInt(character, 16) : 16;
});

/**
 * A long token, as filters are probed for it: the hashes of its pieces. Every text that contains the token contains all
 * pieces.
 */
export type LongToken = readonly number[];

/**
 * Finds the long tokens of a needle that have a decimal digit. Only variables can contain such a token, static text
 * cannot.
 */
export function findLongTokens(needle: Uint8Array): LongToken[] {
  const tokens: LongToken[] = [];
  forEachLongToken(needle, 0, needle.length, (from, to, isDecimal, hasDecimal) => {
    if (!hasDecimal) return;
    const pieces = new Set<number>();
    addPieces(needle, from, to, isDecimal, pieces);
    if (pieces.size > 0) tokens.push([...pieces]);
  });
  return tokens;
}

type OnToken = (from: number, to: number, isDecimal: boolean, hasDecimal: boolean) => void;

/**
 * Calls `onToken` with each long hexadecimal token that has a letter, and with each long sequence of decimal digits,
 * also within such a token. A run of hexadecimal digits that is long enough has one at every ninth place, so most bytes
 * of a long text are not read.
 */
function forEachLongToken(bytes: Uint8Array, from: number, to: number, onToken: OnToken): void {
  for (let at = from + decimalTokenMin - 1; at < to; at += decimalTokenMin) {
    if (hexDigitValues[bytes[at]!] === 16) continue;
    let begin = at;
    while (begin > from && hexDigitValues[bytes[begin - 1]!]! < 16) begin--;
    let end = at + 1;
    while (end < to && hexDigitValues[bytes[end]!]! < 16) end++;
    if (end - begin >= decimalTokenMin) forEachTokenOfRun(bytes, begin, end, onToken);
    at = end;
  }
}

function forEachTokenOfRun(bytes: Uint8Array, from: number, to: number, onToken: OnToken): void {
  let begin = from;
  let decimalBegin = from;
  let hasDecimal = false;
  for (let at = from; at <= to; at++) {
    const digit = at < to ? hexDigitValues[bytes[at]!]! : 16;
    if (digit < 10) {
      hasDecimal = true;
      continue;
    }
    if (at - decimalBegin >= decimalTokenMin) onToken(decimalBegin, at, true, true);
    const isDecimal = decimalBegin === begin;
    decimalBegin = at + 1;
    if (digit < 16) continue;
    if (!isDecimal && at - begin >= hexTokenMin) onToken(begin, at, false, hasDecimal);
    begin = at + 1;
    hasDecimal = false;
  }
}

interface HashSink {
  add(hash: number): void;
}

/** Adds the hashes of the pieces of a token. */
function addPieces(bytes: Uint8Array, from: number, to: number, isDecimal: boolean, sink: HashSink): void {
  if (isDecimal) addDecimalPieces(bytes, from, to, sink);
  else addHexPieces(bytes, from, to, sink);
}

/** Takes every nine digits in a row as a piece. */
function addDecimalPieces(bytes: Uint8Array, from: number, to: number, sink: HashSink): void {
  let number = 0;
  for (let at = from; at < to; at++) {
    number = (number % decimalPieceBase) * 10 + hexDigitValues[bytes[at]!]!;
    if (at - from >= decimalTokenMin - 1) sink.add(hashPiece(~number));
  }
}

/** A ring of the last eight pieces: the piece at `place` is in entry `place` modulo 8. */
const lastPieces = new Uint32Array(8);
/** The ranks of the pieces in `lastPieces`. */
const lastRanks = new Uint32Array(8);

/** Takes pieces by winnowing: from each window of pieces the one with the least rank. */
function addHexPieces(bytes: Uint8Array, from: number, to: number, sink: HashSink): void {
  let piece = 0;
  for (let at = from; at < from + hexPieceLength - 1; at++)
    piece = (piece << 4) | hexDigitValues[bytes[at]!]!;
  let least = 0;
  let leastRank = 0xffffffff;
  let chosen = -1;
  const places = to - from - hexPieceLength + 1;
  for (let place = 0; place < places; place++) {
    piece = (piece << 4) | hexDigitValues[bytes[from + place + hexPieceLength - 1]!]!;
    const rank = rankPiece(piece);
    lastPieces[place & 7] = piece;
    lastRanks[place & 7] = rank;
    if (rank < leastRank) {
      least = place;
      leastRank = rank;
    } else if (least <= place - hexWindow) {
      least = findLeastRanked(place);
      leastRank = lastRanks[least & 7]!;
    }
    if (place < hexWindow - 1 || least === chosen) continue;
    chosen = least;
    sink.add(hashPiece(lastPieces[least & 7]!));
  }
}

/** The place of the piece with the least rank in the window that ends at `last`; of equal ones the first. */
function findLeastRanked(last: number): number {
  let least = last - hexWindow + 1;
  for (let place = least + 1; place <= last; place++)
    if (lastRanks[place & 7]! < lastRanks[least & 7]!) least = place;
  return least;
}

/** Ranks pieces for winnowing. The rank is independent of the hash, whose high bits choose a block in the filter. */
function rankPiece(piece: number): number {
  return Math.imul(piece ^ (piece >>> 16), 0x9e3779b1) >>> 0;
}

/** The final mix of MurmurHash3. */
function hashPiece(piece: number): number {
  let hash = Math.imul(piece ^ (piece >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  // `PieceList` keeps 0 for free entries.
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

/**
 * Bits of a filter for each piece. They give 0.1 % false positives for each block; a search probes dozens of blocks in
 * every chunk.
 */
const bitsPerPiece = 16;

/** Builds the token filter of a sequence of texts. */
export class TokenFilterBuilder {
  readonly #textsPerBlock: number;
  #texts = 0;
  readonly #pieces = new PieceList();
  readonly #blocks: Uint8Array[] = [];
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #addToken = (from: number, to: number, isDecimal: boolean): void =>
    addPieces(this.#bytes, from, to, isDecimal, this.#pieces);

  /** @param perBlock texts in every block but the last */
  constructor(perBlock = textsPerBlock) {
    this.#textsPerBlock = perBlock;
  }

  /** Adds the next text. */
  add(bytes: Uint8Array, from: number, to: number): void {
    this.#addTokens(bytes, from, to);
    this.#endText();
  }

  /**
   * Adds the next `texts` texts, which are concatenated in bytes[from, to). Where they extend over several blocks, each
   * of these blocks gets the tokens of all of them.
   */
  addAll(texts: number, bytes: Uint8Array, from: number, to: number): void {
    this.#addTokens(bytes, from, to);
    for (let i = 0; i < texts; i++) if (this.#endText()) this.#addTokens(bytes, from, to);
  }

  /** Returns the filter in the form that `TokenFilter` reads. */
  finish(): Uint8Array {
    if (this.#texts % this.#textsPerBlock !== 0 || this.#blocks.length === 0) this.#endBlock();
    const ends = new Uint32Array(this.#blocks.length + 1);
    ends[0] = this.#blocks.length;
    let end = 0;
    for (const [i, block] of this.#blocks.entries()) {
      end += block.byteLength;
      ends[i + 1] = end;
    }
    return Buffer.concat([new Uint8Array(ends.buffer), ...this.#blocks]);
  }

  /** Counts a text. Returns whether a block ended with it. */
  #endText(): boolean {
    this.#texts++;
    if (this.#texts % this.#textsPerBlock !== 0) return false;
    this.#endBlock();
    return true;
  }

  #endBlock(): void {
    this.#blocks.push(buildMembershipFilter(this.#pieces.drain(), bitsPerPiece));
  }

  /** Adds the tokens of bytes[from, to) to the current block. */
  #addTokens(bytes: Uint8Array, from: number, to: number): void {
    if (to - from < decimalTokenMin) return;
    this.#bytes = bytes;
    forEachLongToken(bytes, from, to, this.#addToken);
  }
}

/** Number of entries in the table of recently added hashes. */
const recentLength = 1 << 14;

/**
 * A list of hashes, none of them 0. It leaves out most duplicates, namely those that a small table of recent hashes
 * still has: an id that repeats usually repeats soon.
 */
class PieceList {
  readonly #recent = new Uint32Array(recentLength);
  #hashes = new Uint32Array(recentLength);
  #count = 0;

  add(hash: number): void {
    const slot = hash & (recentLength - 1);
    if (this.#recent[slot] === hash) return;
    this.#recent[slot] = hash;
    if (this.#count === this.#hashes.length) this.#hashes = growArray(this.#hashes, this.#count * 2);
    this.#hashes[this.#count++] = hash;
  }

  /** Empties the list and returns its hashes, valid until the next one is added. */
  drain(): Uint32Array {
    const hashes = this.#hashes.subarray(0, this.#count);
    this.#recent.fill(0);
    this.#count = 0;
    return hashes;
  }
}

/** Whether two lookups are for the same token. */
export function isSameToken(pieces: LongToken, other: LongToken | undefined): boolean {
  return other?.length === pieces.length && pieces.every((piece, i) => piece === other[i]);
}

/** Tells which blocks of texts may contain a long token. */
export interface TokenSearch {
  /** Returns whether some block may contain the token with these pieces. */
  mayContain(pieces: LongToken): boolean;
  /**
   * Returns the numbers of the blocks that may contain the token with these pieces, in ascending order. Block `b` holds the
   * texts from number `b` × texts per block on.
   */
  findBlocks(pieces: LongToken): readonly number[];
}

/** Searches a token filter that is in memory as a whole. */
export class TokenFilter implements TokenSearch {
  readonly #bytes: Uint8Array;
  readonly #kernels: Kernels<ArrayBufferLike>;
  /** The token of the last probe. A query probes for the same token several times. */
  #lastToken: LongToken | undefined;
  /** The blocks that the last probe found. */
  #lastBlocks: readonly number[] = [];

  /** @param bytes on the kernels' heap, at a multiple of four bytes of their buffer */
  constructor(bytes: Uint8Array, kernels: Kernels<ArrayBufferLike>) {
    this.#bytes = bytes;
    this.#kernels = kernels;
  }

  mayContain(pieces: LongToken): boolean {
    return this.findBlocks(pieces).length > 0;
  }

  findBlocks(pieces: LongToken): readonly number[] {
    assert(pieces.length > 0, "long runs: nothing is looked for");
    if (!isSameToken(pieces, this.#lastToken)) {
      const blocks: number[] = [];
      for (
        let block = this.#findNextBlock(pieces, 0);
        block >= 0;
        block = this.#findNextBlock(pieces, block + 1)
      )
        blocks.push(block);
      this.#lastToken = pieces;
      this.#lastBlocks = blocks;
    }
    return this.#lastBlocks;
  }

  /** The first block at or after `from` whose filter may contain all pieces, or -1. */
  #findNextBlock(pieces: LongToken, from: number): number {
    let block = from;
    for (let agreed = 0, i = 0; agreed < pieces.length; i = (i + 1) % pieces.length) {
      const found = this.#kernels.findFilter(this.#bytes, pieces[i]!, block);
      if (found < 0) return -1;
      agreed = found === block && agreed > 0 ? agreed + 1 : 1;
      block = found;
    }
    return block;
  }
}
