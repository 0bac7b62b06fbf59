/** The time of a row in JSON, in milliseconds or nanoseconds since the epoch. */
import { quote, zero } from "./jsonchars.ts";
import { digitsEnd, exactDigits, numberAt } from "./jsontext.ts";
import { setTime, timeSeconds } from "./rowtime.ts";

const nanosDigitsMax: u32 = 19;

/** Reads milliseconds since the epoch; they are ignored where a finer time was read. Returns the address after them, or 0. */
export function readMillis(at: usize, isIgnored: bool): usize {
  const end = millisEnd(at);
  if (end == 0 || isIgnored) return end;
  setMillis(at, end);
  // Other magnitudes are other units, which the caller knows.
  const inMillis = timeSeconds() * 1000;
  return inMillis < 1e9 || (inMillis >= 1e11 && inMillis < 1e14) ? end : 0;
}

/** Reads milliseconds since the epoch, of whatever magnitude. Returns the address after them, or 0. */
export function readAnyMillis(at: usize): usize {
  const end = millisEnd(at);
  if (end != 0) setMillis(at, end);
  return end;
}

/** The address after a whole number of milliseconds that is exact; 0 where there is none. */
@inline
function millisEnd(at: usize): usize {
  const end = digitsEnd(at);
  const count = <u32>(end - at);
  return count == 0 || count > exactDigits || (load<u8>(at) == zero && count > 1) ? 0 : end;
}

/** Makes the milliseconds since the epoch whose digits are at [from, to) the time that was read last. */
@inline
export function setMillis(from: usize, to: usize): void {
  const ms = numberAt(from, to);
  const seconds = Math.floor(ms / 1000);
  setTime(seconds, (ms - seconds * 1000) * 1e6);
}

/** Reads nanoseconds since the epoch, with or without quotes. Returns the address after them, or 0. */
export function readNanos(at: usize): usize {
  const isQuoted = load<u8>(at) == quote;
  const from = isQuoted ? at + 1 : at;
  const end = digitsEnd(from);
  const count = <u32>(end - from);
  if (count == 0 || count > nanosDigitsMax) return 0;
  if (isQuoted) {
    if (load<u8>(end) != quote) return 0;
  } else if (load<u8>(from) == zero && count > 1) return 0;
  const split = count > 9 ? end - 9 : from;
  setTime(numberAt(from, split), numberAt(split, end));
  return isQuoted ? end + 1 : end;
}
