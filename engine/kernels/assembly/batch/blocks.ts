/**
 * The memory in which a batch is built: blocks are taken from its beginning upwards, and all are given back at once when
 * the next batch begins. Behind the last block there are always `slackBytes` more, so reads may pass the end of a text.
 */
import { scratchBytes } from "../layout.ts";

/** Most attributes of a row that is staged. */
export const stagedAttributesMax: u32 = 16384;

/**
 * Where a row is staged: float64 seconds and nanoseconds, then words: from and to of the level, from and to of the
 * message, the number of attributes, the first shared attribute, the number of the shared set. Behind it the numbers of
 * the attributes' keys, and the ranges of their values. Ranges count from the base of the row's source.
 */
export const stagedRowAt: usize = (scratchBytes + 63) & ~63;
export const stagedKeysAt: usize = stagedRowAt + 64;
export const stagedFromAt: usize = stagedKeysAt + (<usize>stagedAttributesMax << 2);
export const stagedToAt: usize = stagedFromAt + (<usize>stagedAttributesMax << 2);

const slackBytes: u64 = 64;

/** Where blocks begin. */
const blocksFrom: usize = stagedToAt + (<usize>stagedAttributesMax << 2);
let top: usize = blocksFrom;

/** Gives back all blocks. */
export function rewindBlocks(): void {
  top = blocksFrom;
}

/** A block at a multiple of 16, with any content. Traps where there is no more memory. */
export function reserveBlock(bytes: usize): usize {
  const at = <u64>((top + 15) & ~15);
  const end = at + <u64>bytes;
  const missing = <i64>(end + slackBytes) - ((<i64>memory.size()) << 16);
  if (missing > 0) {
    // A quarter more than is needed now, since growing takes a call of the system.
    const pages = (missing >> 16) + 1;
    const generous = pages + ((<i64>memory.size()) >> 2);
    if (memory.grow(<i32>generous) < 0 && memory.grow(<i32>pages) < 0) unreachable();
  }
  top = <usize>end;
  return <usize>at;
}

/** A block of zeros. */
export function reserveZeros(bytes: usize): usize {
  const at = reserveBlock(bytes);
  memory.fill(at, 0, bytes);
  return at;
}

/** A larger block that begins with the `used` bytes at `at`. */
export function growBlock(at: usize, used: usize, bytes: usize): usize {
  const larger = reserveBlock(bytes);
  memory.copy(larger, at, used);
  return larger;
}
