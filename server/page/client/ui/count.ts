/** Numbers of things, as people write them. */

/** `1 row`, `3,000 rows`. */
export function nameCount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
