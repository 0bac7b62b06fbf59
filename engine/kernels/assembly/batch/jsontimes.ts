/** The time of a row in JSON: whole seconds since the epoch, and nanoseconds of the second. */
import { quote, zero } from "./jsonchars.ts";
import { digitsEnd, numberAt } from "./jsontext.ts";

const exactDigits: u32 = 15;
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
  const end = digitsEnd(at);
  const count = <u32>(end - at);
  if (count == 0 || count > exactDigits || (load<u8>(at) == zero && count > 1)) return 0;
  if (isIgnored) return end;
  const ms = numberAt(at, end);
  const whole = Math.floor(ms / 1000);
  // Other magnitudes are other units, which the caller knows.
  const inMillis = whole * 1000;
  if (!(inMillis < 1e9 || (inMillis >= 1e11 && inMillis < 1e14))) return 0;
  seconds = whole;
  nanos = (ms - whole * 1000) * 1e6;
  return end;
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

