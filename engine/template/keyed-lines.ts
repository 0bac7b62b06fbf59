/**
 * Lines `Key: value` in messages of several lines, as those of Windows events or of pretty JSON. The value of such a line
 * is one variable as a whole. The rules are part of the format.
 */

/** A message with fewer such lines is split into tokens alone. */
const keyedLinesMin = 3;
/** A key has at most so many blanks: `Source Network Address:` is a key, the beginning of a sentence is none. */
const keyBlanksMax = 7;

const newline = 0x0a;
const colon = 0x3a;

/** Whether a byte is a space, a tab or a carriage return. */
export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

/**
 * The start and the end of the value of each line `Key: value` in a message, in turn; none where it has fewer than
 * `keyedLinesMin`. A template with the slot byte in the place of each value has the same lines as its messages.
 */
export function findLineValues(bytes: Uint8Array, from: number, to: number): number[] {
  const values: number[] = [];
  for (let line = from; line < to; ) {
    let end = line;
    while (end < to && bytes[end] !== newline) end++;
    const start = findLineValue(bytes, line, end, { isKeyCut: false });
    if (start < end) values.push(start, skipBlanksBefore(bytes, end, start));
    line = end + 1;
  }
  return values.length < 2 * keyedLinesMin ? [] : values;
}

/**
 * Where the value of the line bytes[from, to) starts; `to` where the line is not `Key: value`. With `isKeyCut` the line may
 * be the rest of one, from somewhere in its key on.
 */
export function findLineValue(
  bytes: Uint8Array,
  from: number,
  to: number,
  { isKeyCut }: { isKeyCut: boolean },
): number {
  const key = skipBlanks(bytes, from, to);
  let blanks = 0;
  for (let at = isKeyCut ? from : key; at + 1 < to; at++) {
    if (bytes[at] === colon && isBlank(bytes[at + 1]!) && (isKeyCut || at > key))
      return skipBlanks(bytes, at + 1, to);
    if (at >= key && isBlank(bytes[at]!) && ++blanks > keyBlanksMax) return to;
  }
  return to;
}

/** The first position from `from` on, or `to`, where there is no blank. */
export function skipBlanks(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isBlank(bytes[at]!)) at++;
  return at;
}

/** The last position from `to` down to `from` before which there is no blank. */
export function skipBlanksBefore(bytes: Uint8Array, to: number, from: number): number {
  let at = to;
  while (at > from && isBlank(bytes[at - 1]!)) at--;
  return at;
}
