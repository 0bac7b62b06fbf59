/** Hashes of ids as keys of maps. */

import type { HashColumn } from "../../../query/index.ts";

/** Whether a row has the id: a row without it has a hash of 0. */
export function hasHash({ low, high }: HashColumn, row: number): boolean {
  return low[row] !== 0 || high[row] !== 0;
}

/** The hash in a row, as a key. */
export function hashKey({ low, high }: HashColumn, row: number): string {
  return `${low[row]} ${high[row]}`;
}
