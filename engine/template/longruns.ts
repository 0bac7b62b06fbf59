/**
 * Which long runs of digits some texts hold, block of texts by block: ids and numbers, of which a search looks for the few blocks
 * that can have them. Pieces of the runs are put into a membership filter for each block; which pieces depends on the bytes around
 * them alone (as in "winnowing" by Schleimer, Wilkerson and Aiken), so that a part of a run is found by the pieces that lie in it.
 */
import { buildMembership, mayContain } from "../membership.ts";

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
export type LongRun = readonly number[];

/** The long runs of a needle that can lie in variables alone: those with a digit. */
export function longRunsOf(needle: Uint8Array): LongRun[] {
  const runs: LongRun[] = [];
  eachRun(needle, 0, needle.length, (from, to, isDecimal, hasDecimal) => {
    if (!hasDecimal) return;
    const pieces = new Set<number>();
    eachPiece(needle, from, to, isDecimal, (piece) => pieces.add(piece));
    if (pieces.size > 0) runs.push([...pieces]);
  });
  return runs;
}

/** Calls with each run of hexadecimal digits that can be long enough, and with each run of decimal digits in one that has letters. */
function eachRun(
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

/** Calls with the hashes of the pieces of a run. */
function eachPiece(
  bytes: Uint8Array,
  from: number,
  to: number,
  isDecimal: boolean,
  onPiece: (hash: number) => void,
): void {
  if (isDecimal) eachDecimalPiece(bytes, from, to, onPiece);
  else eachHexPiece(bytes, from, to, onPiece);
}

function eachDecimalPiece(
  bytes: Uint8Array,
  from: number,
  to: number,
  onPiece: (hash: number) => void,
): void {
  let number = 0;
  for (let at = from; at < to; at++) {
    number = (number % decimalPiece) * 10 + digitOf[bytes[at]!]!;
    if (at - from >= decimalRun - 1) onPiece(hashOf(~number));
  }
}

const recent = new Uint32Array(hexWindow);

/** Of each window of pieces the one with the least rank. */
function eachHexPiece(bytes: Uint8Array, from: number, to: number, onPiece: (hash: number) => void): void {
  let piece = 0;
  let chosen = -1;
  for (let at = from; at < to; at++) {
    piece = (piece << 4) | digitOf[bytes[at]!]!;
    const place = at - from - hexPiece + 1;
    if (place < 0) continue;
    recent[place % hexWindow] = piece;
    if (place < hexWindow - 1) continue;
    const least = leastRanked(place);
    if (least === chosen) continue;
    chosen = least;
    onPiece(hashOf(recent[least % hexWindow]!));
  }
}

/** The first place of the window that ends at one whose piece has the least rank. */
function leastRanked(last: number): number {
  let least = last - hexWindow + 1;
  let leastRank = rankOf(recent[least % hexWindow]!);
  for (let place = least + 1; place <= last; place++) {
    const rank = rankOf(recent[place % hexWindow]!);
    if (rank >= leastRank) continue;
    least = place;
    leastRank = rank;
  }
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

/** Notes the runs of texts, one text after the other. */
export class LongRunsWriter {
  #texts = 0;
  readonly #pieces = new PieceSet();
  readonly #blocks: Uint8Array[] = [];

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
    this.#blocks.push(buildMembership(this.#pieces.take()));
  }

  #note(bytes: Uint8Array, from: number, to: number): void {
    if (to - from < decimalRun) return;
    eachRun(bytes, from, to, (runFrom, runTo, isDecimal) => {
      eachPiece(bytes, runFrom, runTo, isDecimal, (hash) => this.#pieces.add(hash));
    });
  }
}

/** Different hashes, none of them 0, by open addressing. */
class PieceSet {
  #table = new Uint32Array(1 << 12);
  #count = 0;

  add(hash: number): void {
    const mask = this.#table.length - 1;
    let place = hash & mask;
    for (let found = this.#table[place]!; found !== 0; found = this.#table[place]!) {
      if (found === hash) return;
      place = (place + 1) & mask;
    }
    this.#table[place] = hash;
    if (++this.#count * 2 > this.#table.length) this.#grow();
  }

  /** The hashes; the set is empty behind it. */
  take(): Uint32Array {
    const hashes = this.#table.filter((hash) => hash !== 0);
    this.#table.fill(0);
    this.#count = 0;
    return hashes;
  }

  #grow(): void {
    const hashes = this.take();
    this.#table = new Uint32Array(this.#table.length * 2);
    for (const hash of hashes) this.add(hash);
  }
}

/** What a LongRunsWriter wrote. */
export class RunFilter {
  readonly #bytes: Uint8Array;
  readonly #ends: Uint32Array;

  /** `bytes`: at a multiple of four bytes of their buffer. */
  constructor(bytes: Uint8Array) {
    const [blocks] = new Uint32Array(bytes.buffer, bytes.byteOffset, 1);
    this.#ends = new Uint32Array(bytes.buffer, bytes.byteOffset + 4, blocks!);
    this.#bytes = bytes.subarray(4 + blocks! * 4);
  }

  /** The blocks of texts that can hold all of those runs, ascending. */
  blocksHolding(runs: readonly LongRun[]): number[] {
    const blocks: number[] = [];
    for (let block = 0; block < this.#ends.length; block++) {
      const filter = this.#bytes.subarray(block === 0 ? 0 : this.#ends[block - 1]!, this.#ends[block]!);
      if (runs.every((run) => run.every((piece) => mayContain(filter, piece)))) blocks.push(block);
    }
    return blocks;
  }
}
