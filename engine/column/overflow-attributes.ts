/**
 * Overflow attributes: those without a column of their own. A row's overflow attributes are the JSON text of [key,
 * value, key, value …], in a column whose stored role is `rest`.
 */

/** The attributes in one row's text of that column. */
export function parseOverflow(text: string): [key: string, value: string][] {
  const flat = JSON.parse(text) as string[];
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[i * 2]!, flat[i * 2 + 1]!]);
}
