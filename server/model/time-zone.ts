/** Names of time zones. */

/** Returns whether `name` is an IANA name of a time zone that this Node.js knows. */
export function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
