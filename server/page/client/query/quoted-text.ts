/** A text in quotes, as queries have it; `$` begins a variable there. */
export function quoteText(text: string): string {
  return JSON.stringify(text).replaceAll("$", "\\$");
}
