/** The attributes beyond those that have columns of their own: JSON text of [key, value, key, value …]. */

/** The pairs of a `rest` column's text. */
export function parseOverflow(text: string): [key: string, value: string][] {
  const flat = JSON.parse(text) as string[];
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[i * 2]!, flat[i * 2 + 1]!]);
}
