/**
 * Reads the header Retry-After: seconds, or a date (RFC 9110, 10.2.3). Returns milliseconds from now, at most `msMax`, so
 * that neither a wrong header nor a wrong clock stops the caller for long. Undefined where the header is no time, such as
 * a negative number. `msMax` is at most `timerMsMax`.
 */
export function readRetryAfter(value: string | undefined, msMax: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, msMax);
  // A date begins with the name of a day. `Date.parse` would take -5 for one, too.
  const atMs = /^[A-Z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - Date.now()), msMax);
}
