/**
 * The first bytes of the memory, which the allocator leaves to the kernels. The tables of counters and sums
 * stand at fixed places, so that an index is the only address that a loop computes.
 */

/** Where a read that serves no other purpose leaves its result. */
export const touchedAt: usize = 2048;
/**
 * Bytes from one table to the next: 64 KiB, and some lines more, lest equal indices of two tables share
 * their low bits.
 */
export const tableStride: usize = 65536 + 1088;
export const table0: usize = 4096;
export const table1: usize = table0 + tableStride;
export const table2: usize = table1 + tableStride;
export const table3: usize = table2 + tableStride;
/** One table more, where sums over pairs meet. */
export const rowTable: usize = table3 + tableStride;

/** Where a needle lies: its bytes, then the bits that folding sets; each part may be this long. */
export const needleAt: usize = rowTable + 4096;
export const needleBytesMax: usize = 32768;
export const foldAt: usize = needleAt + needleBytesMax + 64;
/** Where other small operands lie: tables of codes, ids. */
export const operandAt: usize = foldAt + needleBytesMax + 64;
export const operandBytesMax: usize = 65536 + 64;

export const scratchBytes: usize = operandAt + operandBytesMax;
