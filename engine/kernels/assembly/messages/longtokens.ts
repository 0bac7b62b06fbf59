/** Filters of long tokens, as template/token-filter.ts defines them. */
import { reserveBlock, reserveZeros } from "../batch/blocks.ts";
import { appendBytes, emptySink, extendSink, newSink, pushWord, sinkAt, sinkLength } from "./sinks.ts";

/** Texts of a block of variables. */
export const variablesPerBlock: u32 = 16384;
const decimalTokenMin: u32 = 9;
const decimalPieceBase: u32 = 100_000_000;
const hexTokenMin: u32 = 12;
const hexPieceLength: u32 = 8;
const hexWindow: u32 = hexTokenMin - hexPieceLength + 1;
const bitsPerPiece: u32 = 16;
const recentLength: u32 = 1 << 14;
const filterBlockBytes: u32 = 32;

/**
 * A filter that is built, by offsets: texts so far, hashes that were added lately, hashes of the block, blocks, ends of
 * blocks, texts of a block.
 */
const recentOffset: usize = 4;
const hashesOffset: usize = 8;
const blocksOffset: usize = 12;
const endsOffset: usize = 16;
const perBlockOffset: usize = 20;

/** Rings of the last eight pieces of a token and their ranks. */
let pieces: usize = 0;
let ranks: usize = 0;

/** Called first for each chunk. */
export function beginTokens(): void {
  pieces = reserveBlock(64);
  ranks = pieces + 32;
}

/** A filter whose blocks have so many texts, but for the last one. */
export function newTokens(textsPerBlock: u32): usize {
  const tokens = reserveZeros(24);
  store<u32>(tokens, textsPerBlock, perBlockOffset);
  store<u32>(tokens, reserveZeros(recentLength << 2), recentOffset);
  store<u32>(tokens, newSink(), hashesOffset);
  store<u32>(tokens, newSink(), blocksOffset);
  store<u32>(tokens, newSink(), endsOffset);
  return tokens;
}

/** Adds the next text. */
@inline
export function addTokenText(tokens: usize, from: usize, to: usize): void {
  addTokens(tokens, from, to);
  endText(tokens);
}

/** Adds the next `texts` texts, which lie one after the other. Each of several blocks gets the tokens of all of them. */
export function addTokenTexts(tokens: usize, texts: u32, from: usize, to: usize): void {
  addTokens(tokens, from, to);
  for (let i: u32 = 0; i < texts; i++) if (endText(tokens)) addTokens(tokens, from, to);
}

/** The filter: the number of blocks, where each ends, then the blocks. A stream of bytes. */
export function finishTokens(tokens: usize): usize {
  const ends: usize = load<u32>(tokens, endsOffset);
  if (load<u32>(tokens) % load<u32>(tokens, perBlockOffset) != 0 || sinkLength(ends) == 0) endBlock(tokens);
  const filter = newSink();
  pushWord(filter, sinkLength(ends) >> 2);
  appendBytes(filter, sinkAt(ends), sinkLength(ends));
  const blocks: usize = load<u32>(tokens, blocksOffset);
  appendBytes(filter, sinkAt(blocks), sinkLength(blocks));
  return filter;
}

/** Counts a text. Returns whether a block ended with it. */
@inline
function endText(tokens: usize): bool {
  const texts = load<u32>(tokens) + 1;
  store<u32>(tokens, texts);
  if (texts % load<u32>(tokens, perBlockOffset) != 0) return false;
  endBlock(tokens);
  return true;
}

/** Ends a block with the membership filter of its hashes; see vector/membership-filter.ts. */
function endBlock(tokens: usize): void {
  const hashes: usize = load<u32>(tokens, hashesOffset);
  const count = sinkLength(hashes) >> 2;
  const bits: u64 = (<u64>count) * bitsPerPiece;
  const filterBlocks = max<u32>(1, <u32>((bits + (filterBlockBytes << 3) - 1) / (filterBlockBytes << 3)));
  const bytes = filterBlocks * filterBlockBytes;
  const blocks: usize = load<u32>(tokens, blocksOffset);
  const filter = extendSink(blocks, bytes);
  memory.fill(filter, 0, bytes);
  const end = sinkAt(hashes) + sinkLength(hashes);
  for (let at = sinkAt(hashes); at < end; at += 4) addToFilter(filter, filterBlocks, load<u32>(at));
  pushWord(load<u32>(tokens, endsOffset), sinkLength(blocks));
  emptySink(hashes);
  memory.fill(load<u32>(tokens, recentOffset), 0, recentLength << 2);
}

@inline
function addToFilter(filter: usize, blocks: u32, hash: u32): void {
  const block = filter + (<usize>(((<u64>hash) * blocks) >> 32)) * filterBlockBytes;
  const key = ((hash ^ (hash >> 15)) * 0x2c1b3c6d) ^ 0x297a2d39;
  setBit(block, 0, key * 0x47b6137b);
  setBit(block, 4, key * 0x44974d91);
  setBit(block, 8, key * 0x8824ad5b);
  setBit(block, 12, key * 0xa2b7289d);
  setBit(block, 16, key * 0x705495c7);
  setBit(block, 20, key * 0x2df1424b);
  setBit(block, 24, key * 0x9efc4947);
  setBit(block, 28, key * 0x5c6bfb31);
}

@inline
function setBit(block: usize, word: usize, product: u32): void {
  store<u32>(block + word, load<u32>(block + word) | ((<u32>1) << (product >> 27)));
}

/** 0 to 15 for a hexadecimal digit in either case; 16 for any other byte. */
@inline
function digitOf(byte: u32): u32 {
  const decimal = byte - 0x30;
  if (decimal < 10) return decimal;
  const letter = (byte | 0x20) - 0x61;
  return letter < 6 ? letter + 10 : 16;
}

/** The value of a byte that is a hexadecimal digit. Letters and digits alternate at random, so it has no branch. */
@inline
function hexValue(byte: u32): u32 {
  return (byte & 15) + 9 * (byte >> 6);
}

/**
 * Adds the long tokens of a text to the block. A long token is a run of hexadecimal digits with a letter among them, or a
 * run of decimal digits, which may be part of such a run.
 */
function addTokens(tokens: usize, from: usize, to: usize): void {
  const length = <u32>(to - from);
  if (length < decimalTokenMin) return;
  // Sixteen bytes are read at a time, also where they pass the end of the text.
  if (from + 64 > (<usize>memory.size()) << 16) {
    addTokensByByte(tokens, from, to);
    return;
  }
  if (length > 64) {
    addTokensOfLong(tokens, from, to);
    return;
  }
  let decimals: u64 = 0;
  let letters: u64 = 0;
  for (let at: u32 = 0; at < length; at += 16) {
    const bytes = v128.load(from + at);
    decimals |= (<u64>i8x16.bitmask(areDecimal(bytes))) << at;
    letters |= (<u64>i8x16.bitmask(areHexLetters(bytes))) << at;
  }
  const inText = (<u64>-1) >> (64 - length);
  decimals &= inText;
  letters &= inText;
  if (beginsOfEight(decimals) & (decimals >> 8)) addTokensByByte(tokens, from, to);
  else addHexTokens(tokens, from, decimals | letters, letters);
}

@inline
function areDecimal(bytes: v128): v128 {
  return i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
}

@inline
function areHexLetters(bytes: v128): v128 {
  return i8x16.lt_u(i8x16.sub(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x61)), i8x16.splat(6));
}

/**
 * As `addTokens`, for a text of more than 64 bytes: looks at 64 bytes at a time for eight hexadecimal digits in a row, and
 * reads each run of digits that has them as a whole. The last eight bytes are looked at with those that follow, too, so
 * that the first eight digits of every run are seen together.
 */
function addTokensOfLong(tokens: usize, from: usize, to: usize): void {
  let at = from;
  while (at + 64 <= to) {
    let digits: u64 = 0;
    for (let i: u32 = 0; i < 64; i += 16) {
      const bytes = v128.load(at + i);
      digits |= (<u64>i8x16.bitmask(v128.or(areDecimal(bytes), areHexLetters(bytes)))) << i;
    }
    const begins = beginsOfEight(digits);
    if (begins == 0) {
      at += 57;
      continue;
    }
    // The first of them begins a run: the digits before it were read with the run that they belong to.
    const begin = at + <usize>ctz(begins);
    let end = begin + 8;
    while (end < to && digitOf(load<u8>(end)) < 16) end++;
    if (end - begin >= decimalTokenMin) addTokensByByte(tokens, begin, end);
    at = end;
  }
  if (at < to) addTokensByByte(tokens, at, to);
}

/** The bits at which eight set bits begin. */
@inline
function beginsOfEight(bits: u64): u64 {
  const two = bits & (bits >> 1);
  const four = two & (two >> 2);
  return four & (four >> 4);
}

/** Adds the runs of hexadecimal digits, which `digits` marks from the lowest bit on, that have a letter among them. */
function addHexTokens(tokens: usize, from: usize, digits: u64, letters: u64): void {
  const eight = beginsOfEight(digits);
  let begins = eight & (eight >> 4);
  while (begins != 0) {
    // The lowest of them begins a run: a digit before it would be one, too.
    const begin = ctz(begins);
    const length = ctz(~(digits >> begin));
    const run = ((<u64>-1) >> (64 - length)) << begin;
    if (letters & run) addHexPieces(tokens, from + <usize>begin, from + <usize>(begin + length));
    begins &= ~run;
  }
}

/** As `addTokens`, for any text. */
function addTokensByByte(tokens: usize, from: usize, to: usize): void {
  let begin = from;
  let decimalBegin = from;
  for (let at = from; at <= to; at++) {
    const digit = at < to ? digitOf(load<u8>(at)) : 16;
    if (digit < 10) continue;
    if (at - decimalBegin >= decimalTokenMin) addDecimalPieces(tokens, decimalBegin, at);
    const isDecimal = decimalBegin == begin;
    decimalBegin = at + 1;
    if (digit < 16) continue;
    if (!isDecimal && at - begin >= hexTokenMin) addHexPieces(tokens, begin, at);
    begin = at + 1;
  }
}

/** Takes every nine digits in a row as a piece. */
function addDecimalPieces(tokens: usize, from: usize, to: usize): void {
  let number: u32 = 0;
  for (let at = from; at < to; at++) {
    number = (number % decimalPieceBase) * 10 + (<u32>load<u8>(at) - 0x30);
    if (at - from >= decimalTokenMin - 1) addHash(tokens, hashPiece(~number));
  }
}

/** Takes pieces by winnowing: from each window of pieces the one with the least rank. */
function addHexPieces(tokens: usize, from: usize, to: usize): void {
  let piece: u32 = 0;
  for (let at = from; at < from + hexPieceLength - 1; at++) piece = (piece << 4) | hexValue(load<u8>(at));
  let least: i32 = 0;
  let leastRank: u32 = 0xffff_ffff;
  let chosen: i32 = -1;
  const places = <i32>(to - from - hexPieceLength + 1);
  for (let place: i32 = 0; place < places; place++) {
    piece = (piece << 4) | hexValue(load<u8>(from + place + hexPieceLength - 1));
    const rank = rankOf(piece);
    const ring: usize = (place & 7) << 2;
    store<u32>(pieces + ring, piece);
    store<u32>(ranks + ring, rank);
    if (rank < leastRank) {
      least = place;
      leastRank = rank;
    } else if (least <= place - <i32>hexWindow) {
      least = place - <i32>hexWindow + 1;
      for (let other = least + 1; other <= place; other++) {
        if (load<u32>(ranks + ((other & 7) << 2)) < load<u32>(ranks + ((least & 7) << 2))) least = other;
      }
      leastRank = load<u32>(ranks + ((least & 7) << 2));
    }
    if (place < <i32>hexWindow - 1 || least == chosen) continue;
    chosen = least;
    addHash(tokens, hashPiece(load<u32>(pieces + ((least & 7) << 2))));
  }
}

@inline
function rankOf(piece: u32): u32 {
  return (piece ^ (piece >> 16)) * 0x9e3779b1;
}

/** The final mix of MurmurHash3; never 0. */
@inline
function hashPiece(piece: u32): u32 {
  let hash = (piece ^ (piece >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  hash = hash ^ (hash >> 16);
  return hash == 0 ? 1 : hash;
}

/** Adds a hash, unless it was added lately. */
@inline
function addHash(tokens: usize, hash: u32): void {
  const slot = <usize>load<u32>(tokens, recentOffset) + ((hash & (recentLength - 1)) << 2);
  if (load<u32>(slot) == hash) return;
  store<u32>(slot, hash);
  pushWord(load<u32>(tokens, hashesOffset), hash);
}
