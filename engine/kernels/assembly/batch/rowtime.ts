/** The time of the row that is read: whole seconds since the epoch, and nanoseconds of the second. */

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
