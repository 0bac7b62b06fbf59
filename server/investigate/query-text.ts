/** Texts of queries that the investigation writes. */

/** A text in quotes of svcQL, where `$` begins a variable. */
export function quote(text: string): string {
  return JSON.stringify(text).replaceAll("$", "\\$");
}
