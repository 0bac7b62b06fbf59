/** Lines `Key: value` in messages, as template/keyed-lines.ts defines them. */

const newline: u32 = 0x0a;
const colon: u32 = 0x3a;
const keyedLinesMin: u32 = 3;
const keyBlanksMax: u32 = 7;

/** Address after the value of the line that `nextLineValue` found last. */
let valueTo: usize = 0;

/** Whether a text has at least `keyedLinesMin` lines `Key: value`. */
export function hasKeyedLines(from: usize, to: usize): bool {
  if (!hasLines(from, to)) return false;
  let count: u32 = 0;
  for (let at = nextLineValue(from, to); at < to; at = nextLineValue(valueTo, to)) {
    if (++count == keyedLinesMin) return true;
  }
  return false;
}

/**
 * Where the next value of a line `Key: value` begins, or `to`. `from` is the beginning of the text, or the end of such a
 * value.
 */
export function nextLineValue(from: usize, to: usize): usize {
  let line = from;
  while (line < to) {
    const value = valueOfLine(line, to);
    const end = endOfLine(value, to);
    if (value < end) {
      valueTo = end;
      while (isBlank(load<u8>(valueTo - 1))) valueTo--;
      return value;
    }
    line = end + 1;
  }
  return to;
}

/** Where the value that `nextLineValue` found last ends. */
@inline
export function lineValueEnd(): usize {
  return valueTo;
}

/** Where the value of the line at `from` begins; where it has none, a place from which on the line has none. */
function valueOfLine(from: usize, to: usize): usize {
  const key = skipBlanks(from, to);
  let blanks: u32 = 0;
  for (let at = key; at + 1 < to; at++) {
    const byte = <u32>load<u8>(at);
    if (byte == newline) return at;
    if (byte == colon && at > key && isBlank(load<u8>(at + 1))) return skipBlanks(at + 1, to);
    if (isBlank(byte) && ++blanks > keyBlanksMax) return endOfLine(at, to);
  }
  return to;
}

@inline
function isBlank(byte: u32): bool {
  return byte == 0x20 || byte == 0x09 || byte == 0x0d;
}

function skipBlanks(from: usize, to: usize): usize {
  let at = from;
  while (at < to && isBlank(load<u8>(at))) at++;
  return at;
}

/** The first line feed from `from` on, or `to`. */
function endOfLine(from: usize, to: usize): usize {
  for (let at = from; at < to; at += 16) {
    const found = <u32>i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(<i8>newline)));
    if (found != 0) return min<usize>(at + <usize>ctz(found), to);
  }
  return to;
}

/** Whether a text has line feeds enough for `keyedLinesMin` lines. */
function hasLines(from: usize, to: usize): bool {
  let count: u32 = 1;
  for (let at = from; at < to; at += 16) {
    let found = <u32>i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(<i8>newline)));
    if (found == 0) continue;
    if (to - at < 16) found &= ((<u32>1) << <u32>(to - at)) - 1;
    count += popcnt(found);
    if (count >= keyedLinesMin) return true;
  }
  return false;
}
