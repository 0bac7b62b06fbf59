/** Filters of character n-grams, as template/ngram-filter.ts defines them. */
import { reserveBlock, reserveZeros } from "../batch/blocks.ts";
import { newSink, pushWord, emptySink, sinkAt, sinkLength } from "./sinks.ts";

const letters: u32 = 26;

/** A filter, by offsets: its bits, the letters of an n-gram, and the numbers of the n-grams that it has. */
const lettersOffset: usize = 4;
const listOffset: usize = 8;

/** A filter of n-grams of 3 or 4 letters. */
export function newNgrams(n: u32): usize {
  const filter = reserveBlock(12);
  store<u32>(filter, reserveZeros(ngramFilterBytes(n)));
  store<u32>(filter, n, lettersOffset);
  store<u32>(filter, newSink(), listOffset);
  return filter;
}

export function ngramFilterBytes(n: u32): u32 {
  return ((n == 3 ? letters * letters * letters : letters * letters * letters * letters) + 7) >> 3;
}

export function ngramBits(filter: usize): usize {
  return load<u32>(filter);
}

@inline
function ngramCount(filter: usize): u32 {
  return sinkLength(load<u32>(filter, listOffset)) >> 2;
}

@inline
function hasNgram(filter: usize, ngram: u32): bool {
  return ((<u32>load<u8>(<usize>load<u32>(filter) + (ngram >> 3))) & (1 << (ngram & 7))) != 0;
}

@inline
function addNgram(filter: usize, ngram: u32): void {
  const place = <usize>load<u32>(filter) + (ngram >> 3);
  const byte: u32 = load<u8>(place);
  const bit: u32 = 1 << (ngram & 7);
  if ((byte & bit) != 0) return;
  store<u8>(place, byte | bit);
  pushWord(load<u32>(filter, listOffset), ngram);
}

/** Adds the n-grams of a text. */
export function addNgrams(filter: usize, from: usize, to: usize): void {
  // The numbers of letters are constants, so that the compiler makes a loop for each.
  if (load<u32>(filter, lettersOffset) == 3) addNgramsOf(filter, from, to, 3);
  else addNgramsOf(filter, from, to, 4);
}

/**
 * The last letters are kept as five bits each, which takes a shift for each letter. Only the number of a whole n-gram takes
 * multiplications, and the next letter does not wait for their result.
 */
@inline
function addNgramsOf(filter: usize, from: usize, to: usize, n: u32): void {
  let length: u32 = 0;
  let last: u32 = 0;
  for (let at = from; at < to; at++) {
    const letter = (<u32>load<u8>(at) | 0x20) - 0x61;
    if (letter >= letters) {
      length = 0;
      continue;
    }
    last = (last << 5) | letter;
    if (++length >= n) addNgram(filter, n == 3 ? trigramOf(last) : trigramOf(last >> 5) * letters + letter);
  }
}

@inline
function trigramOf(last: u32): u32 {
  return (((last >> 10) & 31) * letters + ((last >> 5) & 31)) * letters + (last & 31);
}

/** Adds the n-grams of another filter, whose n-grams have the same number of letters. */
export function addAllNgrams(filter: usize, other: usize): void {
  const list: usize = load<u32>(other, listOffset);
  const end = sinkAt(list) + sinkLength(list);
  for (let at = sinkAt(list); at < end; at += 4) addNgram(filter, load<u32>(at));
}

/** Whether more than one in `share` of the filter's n-grams is missing from the other. */
export function isMostlyMissing(filter: usize, other: usize, share: u32): bool {
  const list: usize = load<u32>(filter, listOffset);
  const end = sinkAt(list) + sinkLength(list);
  let missing: u32 = 0;
  for (let at = sinkAt(list); at < end; at += 4) if (!hasNgram(other, load<u32>(at))) missing++;
  return missing * share > ngramCount(filter);
}

export function clearNgrams(filter: usize): void {
  const list: usize = load<u32>(filter, listOffset);
  const end = sinkAt(list) + sinkLength(list);
  const bits: usize = load<u32>(filter);
  for (let at = sinkAt(list); at < end; at += 4) store<u8>(bits + (load<u32>(at) >> 3), 0);
  emptySink(list);
}

/** Adds every n-gram of four letters from a to f. */
export function addHexFourgrams(filter: usize): void {
  for (let a: u32 = 0; a < 6; a++)
    for (let b: u32 = 0; b < 6; b++)
      for (let c: u32 = 0; c < 6; c++)
        for (let d: u32 = 0; d < 6; d++) addNgram(filter, ((a * letters + b) * letters + c) * letters + d);
}
