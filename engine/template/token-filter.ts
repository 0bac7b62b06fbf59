/**
 * Which long runs of digits some texts hold, block of texts by block: ids and numbers, of which a search looks for the few blocks
 * that can have them. Pieces of the runs are put into a membership filter for each block; which pieces depends on the bytes around
 * them alone (as in "winnowing" by Schleimer, Wilkerson and Aiken), so that a part of a run is found by the pieces that lie in it.
 */
import assert from "node:assert/strict";
import type { Kernels } from "../kernels/contract.ts";
import { buildMembershipFilter } from "../vector/membership-filter.ts";

/** Texts in a block. */
export const blockTexts = 16_384;

/** Decimal runs of at least so many digits are noted, all pieces of that length. */
const decimalRun = 9;
const decimalPiece = 10 ** (decimalRun - 1);
/** Hexadecimal runs with a letter: of any so many digits one piece of eight. */
const hexRun = 12;
const hexPiece = 8;
const hexWindow = hexRun - hexPiece + 1;

/** 0 to 9 for a decimal digit, 10 to 15 for one of the letters, whatever the case; 16 for all else. */
const digitOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[0-9a-fA-F]/.test(character) ? Number.parseInt(character, 16) : 16;
});

/** A run that is long enough, ready to be looked for: hashes of pieces that stand in every text with the run. */
export type LongToken = readonly number[];

/** The long runs of a needle that can lie in variables alone: those with a digit. */
export function longTokensOf(needle: Uint8Array): LongToken[] {
  const runs: LongToken[] = [];
  eachLongToken(needle, 0, needle.length, (from, to, isDecimal, hasDecimal) => {
    if (!hasDecimal) return;
    const pieces = new Set<number>();
    addPieces(needle, from, to, isDecimal, pieces);
    if (pieces.size > 0) runs.push([...pieces]);
  });
  return runs;
}

/** Calls with each run of hexadecimal digits that can be long enough, and with each run of decimal digits in one that has letters. */
function eachLongToken(
  bytes: Uint8Array,
  from: number,
  to: number,
  onRun: (from: number, to: number, isDecimal: boolean, hasDecimal: boolean) => void,
): void {
  let begin = from;
  let decimalBegin = from;
  let hasDecimal = false;
  for (let at = from; at <= to; at++) {
    const digit = at < to ? digitOf[bytes[at]!]! : 16;
    if (digit < 10) {
      hasDecimal = true;
      continue;
    }
    if (at - decimalBegin >= decimalRun) onRun(decimalBegin, at, true, true);
    const isDecimal = decimalBegin === begin;
    decimalBegin = at + 1;
    if (digit < 16) continue;
    if (!isDecimal && at - begin >= hexRun) onRun(begin, at, false, hasDecimal);
    begin = at + 1;
    hasDecimal = false;
  }
}

interface HashSink {
  add(hash: number): void;
}

/** Adds the hashes of the pieces of a run. */
function addPieces(bytes: Uint8Array, from: number, to: number, isDecimal: boolean, sink: HashSink): void {
  if (isDecimal) addDecimalPieces(bytes, from, to, sink);
  else addHexPieces(bytes, from, to, sink);
}

function addDecimalPieces(bytes: Uint8Array, from: number, to: number, sink: HashSink): void {
  let number = 0;
  for (let at = from; at < to; at++) {
    number = (number % decimalPiece) * 10 + digitOf[bytes[at]!]!;
    if (at - from >= decimalRun - 1) sink.add(hashOf(~number));
  }
}

/** The last pieces, and their ranks, each at its place modulo eight. */
const lastPieces = new Uint32Array(8);
const lastRanks = new Uint32Array(8);

/** Of each window of pieces the one with the least rank. */
function addHexPieces(bytes: Uint8Array, from: number, to: number, sink: HashSink): void {
  let piece = 0;
  for (let at = from; at < from + hexPiece - 1; at++) piece = (piece << 4) | digitOf[bytes[at]!]!;
  let least = 0;
  let leastRank = 0xffffffff;
  let chosen = -1;
  const places = to - from - hexPiece + 1;
  for (let place = 0; place < places; place++) {
    piece = (piece << 4) | digitOf[bytes[from + place + hexPiece - 1]!]!;
    const rank = rankOf(piece);
    lastPieces[place & 7] = piece;
    lastRanks[place & 7] = rank;
    if (rank < leastRank) {
      least = place;
      leastRank = rank;
    } else if (least <= place - hexWindow) {
      least = leastRanked(place);
      leastRank = lastRanks[least & 7]!;
    }
    if (place < hexWindow - 1 || least === chosen) continue;
    chosen = least;
    sink.add(hashOf(lastPieces[least & 7]!));
  }
}

/** The first place of the window that ends at one whose piece has the least rank. */
function leastRanked(last: number): number {
  let least = last - hexWindow + 1;
  for (let place = least + 1; place <= last; place++)
    if (lastRanks[place & 7]! < lastRanks[least & 7]!) least = place;
  return least;
}

/** Independent of the hash, whose high bits choose a place in the filter. */
function rankOf(piece: number): number {
  return Math.imul(piece ^ (piece >>> 16), 0x9e3779b1) >>> 0;
}

/** The last steps of MurmurHash3. */
function hashOf(piece: number): number {
  let hash = Math.imul(piece ^ (piece >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  // The writer's set has no place for 0.
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

/** Of the filters: 0.1 % false "may" a block, since a needle is looked up in dozens of blocks of every chunk. */
const bitsAPiece = 16;

/** Notes the runs of texts, one text after the other. */
export class TokenFilterBuilder {
  #texts = 0;
  readonly #pieces = new PieceList();
  readonly #blocks: Uint8Array[] = [];
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #addRun = (from: number, to: number, isDecimal: boolean): void =>
    addPieces(this.#bytes, from, to, isDecimal, this.#pieces);

  /** The next text. */
  add(bytes: Uint8Array, from: number, to: number): void {
    this.#note(bytes, from, to);
    this.#advance();
  }

  /** The next texts, which stand one behind the other in bytes[from, to). */
  addAll(texts: number, bytes: Uint8Array, from: number, to: number): void {
    this.#note(bytes, from, to);
    for (let i = 0; i < texts; i++) if (this.#advance()) this.#note(bytes, from, to);
  }

  /** As `RunFilter` reads it. */
  finish(): Uint8Array {
    if (this.#texts % blockTexts !== 0 || this.#blocks.length === 0) this.#endBlock();
    const ends = new Uint32Array(this.#blocks.length + 1);
    ends[0] = this.#blocks.length;
    let end = 0;
    for (const [i, block] of this.#blocks.entries()) {
      end += block.byteLength;
      ends[i + 1] = end;
    }
    return Buffer.concat([new Uint8Array(ends.buffer), ...this.#blocks]);
  }

  /** Whether a block has ended. */
  #advance(): boolean {
    this.#texts++;
    if (this.#texts % blockTexts !== 0) return false;
    this.#endBlock();
    return true;
  }

  #endBlock(): void {
    this.#blocks.push(buildMembershipFilter(this.#pieces.take(), bitsAPiece));
  }

  #note(bytes: Uint8Array, from: number, to: number): void {
    if (to - from < decimalRun) return;
    this.#bytes = bytes;
    eachLongToken(bytes, from, to, this.#addRun);
  }
}

/** Entries of the table of hashes that were added last. */
const recentHashes = 1 << 14;

/** Hashes, none of them 0; most of those that are added again are left out, since ids repeat soon if they do. */
class PieceList {
  readonly #recent = new Uint32Array(recentHashes);
  #hashes = new Uint32Array(recentHashes);
  #count = 0;

  add(hash: number): void {
    const place = hash & (recentHashes - 1);
    if (this.#recent[place] === hash) return;
    this.#recent[place] = hash;
    if (this.#count === this.#hashes.length) {
      const larger = new Uint32Array(this.#count * 2);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#count++] = hash;
  }

  /** The hashes, good until the next is added; the list is empty behind it. */
  take(): Uint32Array {
    const hashes = this.#hashes.subarray(0, this.#count);
    this.#recent.fill(0);
    this.#count = 0;
    return hashes;
  }
}

/** What a LongRunsWriter wrote. */
export class TokenFilter {
  readonly #bytes: Uint8Array;
  readonly #kernels: Kernels<ArrayBufferLike>;
  /** What was asked last, as a query asks several times, and the answer. */
  #asked: LongToken | undefined;
  #blocks: readonly number[] = [];

  /** `bytes`: where the kernels work, at a multiple of four bytes of their buffer. */
  constructor(bytes: Uint8Array, kernels: Kernels<ArrayBufferLike>) {
    this.#bytes = bytes;
    this.#kernels = kernels;
  }

  /** Whether some block of texts can hold a run, or all of several whose pieces these are. */
  mayHold(pieces: LongToken): boolean {
    return this.blocksHolding(pieces).length > 0;
  }

  /** The blocks of texts that can hold them, ascending. */
  blocksHolding(pieces: LongToken): readonly number[] {
    assert(pieces.length > 0, "long runs: nothing is looked for");
    const asked = this.#asked;
    const isAsked = asked?.length === pieces.length && pieces.every((piece, i) => piece === asked[i]);
    if (!isAsked) {
      const blocks: number[] = [];
      for (let block = this.#next(pieces, 0); block >= 0; block = this.#next(pieces, block + 1))
        blocks.push(block);
      this.#asked = pieces;
      this.#blocks = blocks;
    }
    return this.#blocks;
  }

  /** The first block at or after `from` whose filter may hold all pieces, or -1. */
  #next(pieces: LongToken, from: number): number {
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
