/** Dates with a time of day, as 2026-01-31T12:00:00.000Z: of the year 1970 or later, UTC where they name no zone. */
import { colon, comma, minus, point, zero } from "../batch/jsonchars.ts";
import { digitsEnd, numberAt } from "../batch/jsontext.ts";
import { setTime } from "../batch/rowtime.ts";

const plus: u32 = 0x2b;
const letterT: u32 = 0x74;
const letterZ: u32 = 0x7a;
const lowerCase: u32 = 0x20;
const fractionDigitsMax: u32 = 9;
/** The length of a date with a time of day, without fraction and zone. */
const secondsLength: usize = 19;

/** Makes the date at [from, to) the time that was read last. False for any other text, and for unusual dates. */
export function readDate(from: usize, to: usize): bool {
  if (to < from + secondsLength || load<u8>(from, 4) != minus || load<u8>(from, 7) != minus) return false;
  if ((<u32>load<u8>(from, 10) | lowerCase) != letterT) return false;
  if (load<u8>(from, 13) != colon || load<u8>(from, 16) != colon) return false;
  const century = twoDigits(from);
  const ofCentury = twoDigits(from + 2);
  const hour = twoDigits(from + 11);
  const minute = twoDigits(from + 14);
  const second = twoDigits(from + 17);
  // What is no number counts as larger than any.
  if (century > 99 || ofCentury > 99 || hour > 23 || minute > 59 || second > 59) return false;
  const days = daysUntil(century * 100 + ofCentury, twoDigits(from + 5), twoDigits(from + 8));
  if (days < 0) return false;
  let at = from + secondsLength;
  let nanos: f64 = 0;
  if (at < to && (load<u8>(at) == point || load<u8>(at) == comma)) {
    const end = digitsEnd(at + 1);
    const digits = <u32>(end - at - 1);
    if (end > to || digits == 0 || digits > fractionDigitsMax) return false;
    nanos = numberAt(at + 1, end);
    for (let i = digits; i < fractionDigitsMax; i++) nanos *= 10;
    at = end;
  }
  const offset = readZone(at, to);
  const seconds = <f64>days * 86400 + <f64>(hour * 3600 + minute * 60 + second) - <f64>offset;
  if (offset == noZone || seconds < 0) return false;
  setTime(seconds, nanos);
  return true;
}

/** The number that two digits are; at least 100 where they are none. */
@inline
function twoDigits(at: usize): u32 {
  const tens: u32 = <u32>load<u8>(at) - zero;
  const ones: u32 = <u32>load<u8>(at, 1) - zero;
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

/** The days from 1970-01-01 to a date; -1 where there is no such date, or where it is before. */
function daysUntil(year: u32, month: u32, day: u32): i32 {
  if (year < 1970 || month - 1 > 11 || day == 0 || day > daysOf(year, month)) return -1;
  // Years begin with March, so that a leap day is the last of its year.
  const marchYear = month > 2 ? year : year - 1;
  const monthsSinceMarch = month > 2 ? month - 3 : month + 9;
  const dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1;
  return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - daysUntil1970;
}

/** The days from March 1 of the year 0 to 1970-01-01. */
const daysUntil1970: u32 = 719468;

function daysOf(year: u32, month: u32): u32 {
  if (month != 2) return 30 + ((month + (month >> 3)) & 1);
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
}

const noZone: i32 = i32.MIN_VALUE;

/** The seconds that the zone at [at, to) is ahead of UTC: Z, +01:00, +0100, or none at all. Else `noZone`. */
function readZone(at: usize, to: usize): i32 {
  const length = to - at;
  if (length == 0) return 0;
  const sign: u32 = load<u8>(at);
  if (length == 1) return (sign | lowerCase) == letterZ ? 0 : noZone;
  const hasColon = length == 6 && load<u8>(at, 3) == colon;
  if ((sign != plus && sign != minus) || (length != 5 && !hasColon)) return noZone;
  const hours = twoDigits(at + 1);
  const minutes = twoDigits(at + length - 2);
  if (hours > 23 || minutes > 59) return noZone;
  const seconds = <i32>(hours * 3600 + minutes * 60);
  return sign == minus ? -seconds : seconds;
}
