/** The time of a row in JSON: whole seconds since the epoch, and nanoseconds of the second. */
import { quote, zero } from "./jsonchars.ts";
import { digitsEnd, exactDigits, numberAt } from "./jsontext.ts";

const nanosDigitsMax: u32 = 19;

/** The time that was read last. */
let seconds: f64 = 0;
let nanos: f64 = 0;

@inline
export function setTime(wholeSeconds: f64, restNanos: f64): void {
  seconds = wholeSeconds;
  nanos = restNanos;
}
@inline
export function timeSeconds(): f64 {
  return seconds;
}
@inline
export function timeNanos(): f64 {
  return nanos;
}

/** Whether the time is before the instant of so many seconds and nanoseconds. */
@inline
export function isBefore(limit: f64, limitNanos: f64): bool {
  return seconds < limit || (seconds == limit && nanos < limitNanos);
}
@inline
export function isAfter(limit: f64, limitNanos: f64): bool {
  return seconds > limit || (seconds == limit && nanos > limitNanos);
}

/** Reads milliseconds since the epoch; they are ignored where a finer time was read. Returns the address behind them, or 0. */
export function readMillis(at: usize, isIgnored: bool): usize {
  const end = millisEnd(at);
  if (end == 0 || isIgnored) return end;
  setMillis(at, end);
  // Other magnitudes are other units, which the caller knows.
  const inMillis = seconds * 1000;
  return inMillis < 1e9 || (inMillis >= 1e11 && inMillis < 1e14) ? end : 0;
}

/** Reads milliseconds since the epoch, of whatever magnitude. Returns the address behind them, or 0. */
export function readAnyMillis(at: usize): usize {
  const end = millisEnd(at);
  if (end != 0) setMillis(at, end);
  return end;
}

/** The address behind a whole number of milliseconds that is exact; 0 where there is none. */
@inline
function millisEnd(at: usize): usize {
  const end = digitsEnd(at);
  const count = <u32>(end - at);
  return count == 0 || count > exactDigits || (load<u8>(at) == zero && count > 1) ? 0 : end;
}

@inline
function setMillis(from: usize, to: usize): void {
  const ms = numberAt(from, to);
  seconds = Math.floor(ms / 1000);
  nanos = (ms - seconds * 1000) * 1e6;
}

/** Reads nanoseconds since the epoch, with or without quotes. Returns the address behind them, or 0. */
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
  seconds = numberAt(from, split);
  nanos = numberAt(split, end);
  return isQuoted ? end + 1 : end;
}

