/**
 * The tokeniser: messages as templates and variables, as template/plain-tokenizer.ts defines them. Sixteen bytes are
 * classified at once, and only tokens with a digit are handled one by one. Templates are distinguished by a hash of
 * their static text; where hashes agree, the message is compared with the first message of the template.
 *
 * Reads may pass the end of the text by at most 15 bytes.
 */

import { sameBytes } from "./bytes.ts";
import { hasKeyedLines, lineValueEnd, nextLineValue } from "./messages/keyedlines.ts";

/** Address at which the message that is being split begins. */
let start: usize = 0;
/** Address at which this message ends. */
let end: usize = 0;
/** Hash of the message's text up to `staticFrom`, with the byte 0xff for each variable. */
let hash: u64 = 0;
/** Address after the message's last variable so far. Static text from here on is not hashed yet. */
let staticFrom: usize = 0;

let textAt: usize = 0;
let offsetsAt: usize = 0;
let codesAt: usize = 0;
let baseAt: usize = 0;
let startsAt: usize = 0;
let endsAt: usize = 0;
let count: u32 = 0;

let tableAt: usize = 0;
let tableMask: u32 = 0;
let hashesAt: usize = 0;
let firstsAt: usize = 0;
let templates: u32 = 0;

const multiplier: u64 = 0x9e37_79b9_7f4a_7c15;

/**
 * Sets where results are written: a code for each row; the number of each row's first variable, and one entry more; the
 * start and the end of each variable.
 */
export function setSplitTarget(codes: usize, base: usize, starts: usize, ends: usize): void {
  codesAt = codes;
  baseAt = base;
  startsAt = starts;
  endsAt = ends;
}

/**
 * Sets the tables: a hash table of mask + 1 words, all zero; and for each template a double word for its hash and a
 * word for its first row. There may be as many templates as rows.
 */
export function setSplitTables(slots: usize, mask: u32, hashes: usize, firsts: usize): void {
  tableAt = slots;
  tableMask = mask;
  hashesAt = hashes;
  firstsAt = firsts;
}

/**
 * Splits the rows; returns the number of templates. Returns -1 where there may be more than `max` variables, and -2 as soon
 * as there are more than `templatesMax` templates.
 */
export function splitRows(bytes: usize, offsets: usize, rows: u32, max: u32, templatesMax: u32): i32 {
  textAt = bytes;
  offsetsAt = offsets;
  count = 0;
  templates = 0;
  store<u32>(baseAt, 0);
  for (let row: u32 = 0; row < rows; row++) {
    start = bytes + load<u32>(offsets + ((<usize>row) << 2));
    end = bytes + load<u32>(offsets + ((<usize>row) << 2), 4);
    // At most every other byte begins a variable.
    if (<u64>count + ((end - start) >> 1) + 1 > <u64>max) return -1;
    const first = count;
    hash = multiplier;
    staticFrom = start;
    if (hasKeyedLines(start, end) ? findLineVariables() : findVariables(start, end)) {
      hashStatic(end);
    } else {
      count = first;
      hash = multiplier;
      staticFrom = start;
      put(start, end);
    }
    store<u32>(baseAt + ((<usize>row) << 2), count, 4);
    store<u32>(codesAt + ((<usize>row) << 2), codeOf(row));
    if (templates > templatesMax) return -2;
  }
  return <i32>templates;
}

/** The number of variables that `splitRows` found. */
export function splitVariables(): u32 {
  return count;
}

/** As `findVariables`, for all of a message with lines `Key: value`, whose values are variables. */
function findLineVariables(): bool {
  let from = start;
  for (let value = nextLineValue(from, end); value < end; value = nextLineValue(from, end)) {
    if (!findVariables(from, value)) return false;
    from = lineValueEnd();
    if (hasSlotByte(value, from)) return false;
    put(value, from);
  }
  return findVariables(from, end);
}

/** Whether bytes hold 0xff, which stands for a variable in templates. */
function hasSlotByte(from: usize, to: usize): bool {
  for (let at = from; at < to; at += 16) {
    let found = <u32>i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(-1)));
    if (to - at < 16) found &= ((<u32>1) << <u32>(to - at)) - 1;
    if (found != 0) return true;
  }
  return false;
}

/**
 * Finds the variables in a part of the message, whose ends lie between tokens. Returns false where it holds 0xff, the byte
 * that stands for a variable in templates.
 */
function findVariables(from: usize, to: usize): bool {
  // Address of the token that continues from the block before, or 0 where there is none.
  let open: usize = 0;
  // Whether that token has had a digit.
  let openDigit = false;
  for (let at = from; at < to; at += 64) {
    let tokens: u64 = 0;
    let digits: u64 = 0;
    const length = <u32>min<usize>(to - at, 64);
    for (let i: u32 = 0; i < length; i += 16) {
      const bytes = v128.load(at + i);
      const lower = v128.or(bytes, i8x16.splat(0x20));
      const isDigit = within(bytes, 0x30, 9);
      let isToken = v128.or(isDigit, within(lower, 0x61, 25));
      // "-", ".", "_", and all bytes from 0x80 on (whose top bit is set, as in a mask).
      isToken = v128.or(isToken, i8x16.eq(bytes, i8x16.splat(0x2d)));
      isToken = v128.or(isToken, i8x16.eq(bytes, i8x16.splat(0x2e)));
      isToken = v128.or(isToken, i8x16.eq(bytes, i8x16.splat(0x5f)));
      isToken = v128.or(isToken, bytes);
      tokens |= (<u64>i8x16.bitmask(isToken)) << i;
      digits |= (<u64>i8x16.bitmask(isDigit)) << i;
      let whole = <u32>i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(-1)));
      if (whole != 0) {
        if (length - i < 16) whole &= ((<u32>1) << (length - i)) - 1;
        if (whole != 0) return false;
      }
    }
    if (length < 64) {
      const valid = ((<u64>1) << length) - 1;
      tokens &= valid;
      digits &= valid;
    }
    if (open != 0) {
      const gap = ~tokens;
      const first = gap == 0 ? 64 : ctz(gap);
      if (first == 64) {
        if (digits != 0) openDigit = true;
        continue;
      }
      if ((digits & lowBits(first)) != 0) openDigit = true;
      if (openDigit) put(open, at + <usize>first);
      open = 0;
      digits &= ~lowBits(first);
    }
    while (digits != 0) {
      const digit = ctz(digits);
      const before = ~tokens & lowBits(digit);
      const first = before == 0 ? 0 : 64 - clz(before);
      const gap = ~tokens & ~lowBits(digit);
      if (gap == 0) {
        open = at + <usize>first;
        openDigit = true;
        break;
      }
      const behind = ctz(gap);
      put(at + <usize>first, at + <usize>behind);
      digits &= ~lowBits(behind);
    }
    if (open == 0 && tokens >> 63 != 0) {
      open = at + <usize>(64 - clz(~tokens));
      openDigit = false;
    }
  }
  if (open != 0 && openDigit) put(open, to);
  return true;
}

/** Lanes whose byte is from `low` to `low` + `span`. */
@inline
function within(bytes: v128, low: i8, span: i8): v128 {
  return i8x16.le_u(i8x16.sub(bytes, i8x16.splat(low)), i8x16.splat(span));
}

/** A word with the lowest `bits` bits set, fewer than 64. */
@inline
function lowBits(bits: u64): u64 {
  return ((<u64>1) << bits) - 1;
}

/** Records a variable, and hashes the static text before it. */
@inline
function put(from: usize, to: usize): void {
  hashStatic(from);
  hash = (hash ^ 0xff) * multiplier;
  hash ^= hash >> 29;
  store<u32>(startsAt + ((<usize>count) << 2), <u32>(from - textAt));
  store<u32>(endsAt + ((<usize>count) << 2), <u32>(to - textAt));
  count++;
  staticFrom = to;
}

/** Hashes the static text from the last variable to `to`. */
@inline
function hashStatic(to: usize): void {
  let at = staticFrom;
  for (; at + 8 <= to; at += 8) {
    hash = (hash ^ load<u64>(at)) * multiplier;
    hash ^= hash >> 32;
  }
  const rest = to - at;
  if (rest == 0) return;
  const word = load<u64>(at) & (((<u64>1) << (rest << 3)) - 1);
  hash = (hash ^ word ^ ((<u64>rest) << 59)) * multiplier;
  hash ^= hash >> 32;
}

/** Returns the template's code for the row that was split last. A new template is added to the tables. */
function codeOf(row: u32): u32 {
  let slot = (<u32>(hash >> 32) ^ <u32>hash) & tableMask;
  for (;;) {
    const known = load<u32>(tableAt + ((<usize>slot) << 2));
    if (known == 0) break;
    const code = known - 1;
    if (load<u64>(hashesAt + ((<usize>code) << 3)) == hash) {
      if (alike(load<u32>(firstsAt + ((<usize>code) << 2)), row)) return code;
    }
    slot = (slot + 1) & tableMask;
  }
  const code = templates++;
  store<u32>(tableAt + ((<usize>slot) << 2), code + 1);
  store<u64>(hashesAt + ((<usize>code) << 3), hash);
  store<u32>(firstsAt + ((<usize>code) << 2), row);
  return code;
}

/** Returns whether two rows have the same static text around the same number of variables. */
function alike(a: u32, b: u32): bool {
  let variableA = load<u32>(baseAt + ((<usize>a) << 2));
  let variableB = load<u32>(baseAt + ((<usize>b) << 2));
  const variables = load<u32>(baseAt + ((<usize>a) << 2), 4) - variableA;
  if (load<u32>(baseAt + ((<usize>b) << 2), 4) - variableB != variables) return false;
  let atA = load<u32>(offsetsAt + ((<usize>a) << 2));
  let atB = load<u32>(offsetsAt + ((<usize>b) << 2));
  for (let i: u32 = 0; i < variables; i++, variableA++, variableB++) {
    const toA = load<u32>(startsAt + ((<usize>variableA) << 2));
    const toB = load<u32>(startsAt + ((<usize>variableB) << 2));
    if (toA - atA != toB - atB || !sameBytes(textAt + atA, textAt + atB, toA - atA)) return false;
    atA = load<u32>(endsAt + ((<usize>variableA) << 2));
    atB = load<u32>(endsAt + ((<usize>variableB) << 2));
  }
  const toA = load<u32>(offsetsAt + ((<usize>a) << 2), 4);
  const toB = load<u32>(offsetsAt + ((<usize>b) << 2), 4);
  return toA - atA == toB - atB && sameBytes(textAt + atA, textAt + atB, toA - atA);
}
