/** Numbers written in decimal digits, as JavaScript prints them. */
const zero: u32 = 0x30;
const point: u32 = 0x2e;
const minus: u32 = 0x2d;

/** Bytes of the longest integer of 64 bits, with its sign. */
export const integerBytesMax: u32 = 20;
/** Decimals of milliseconds from so many nanoseconds on have more digits than are exact. */
export const exactNanosMax: u64 = 1_000_000_000_000_000;
const nanosOfMilli: u64 = 1_000_000;

/** Writes an integer. Returns the address after it. */
export function writeInteger(at: usize, number: i64): usize {
  if (number >= 0) return writeUnsigned(at, number);
  store<u8>(at, minus);
  return writeUnsigned(at + 1, 0 - <u64>number);
}

function writeUnsigned(at: usize, number: u64): usize {
  const to = at + countDigits(number);
  writeDigits(at, to, number);
  return to;
}

/**
 * Writes nanoseconds, fewer than `exactNanosMax`, as milliseconds. Returns the address after them; 0 where they do not fit
 * between `at` and `end`.
 */
export function writeMillis(at: usize, end: usize, nanoseconds: u64): usize {
  const whole = nanoseconds / nanosOfMilli;
  let rest = nanoseconds % nanosOfMilli;
  let decimals: u32 = 6;
  for (; decimals > 0 && rest % 10 == 0; decimals--) rest /= 10;
  const pointAt = at + countDigits(whole);
  const to = decimals == 0 ? pointAt : pointAt + 1 + decimals;
  if (to > end) return 0;
  writeDigits(at, pointAt, whole);
  if (decimals > 0) {
    store<u8>(pointAt, point);
    writeDigits(pointAt + 1, to, rest);
  }
  return to;
}

@inline
function countDigits(number: u64): u32 {
  let digits: u32 = 1;
  for (let left = number; left >= 10; left /= 10) digits++;
  return digits;
}

/** Fills [from, to) with the last digits of a number. */
@inline
function writeDigits(from: usize, to: usize, number: u64): void {
  let left = number;
  for (let at = to - 1; at >= from; at--) {
    store<u8>(at, zero + <u32>(left % 10));
    left /= 10;
  }
}
