/**
 * The layout of the first bytes of the memory, which the arena leaves to the kernels. Tables of counters and sums have
 * fixed addresses, so that a loop computes nothing but the index into them.
 */

/** Where `fetchPage` stores what it read. */
export const touchedAt: usize = 2048;
/**
 * Bytes from one table to the next: 64 KiB and some cache lines more, so that equal indices of two tables do not have
 * the same low bits of their addresses.
 */
export const tableStride: usize = 65536 + 1088;
export const table0: usize = 4096;
export const table1: usize = table0 + tableStride;
export const table2: usize = table1 + tableStride;
export const table3: usize = table2 + tableStride;
/** One more table, where `counts.ts` sums up the counters of pairs. */
export const rowTable: usize = table3 + tableStride;

/**
 * Where a needle lies: its bytes, then (at `foldAt`) the bits that case folding sets. Each of the two has
 * `needleBytesMax` bytes.
 */
export const needleAt: usize = rowTable + 4096;
export const needleBytesMax: usize = 32768;
export const foldAt: usize = needleAt + needleBytesMax + 64;
/** Where other small operands lie: tables of codes, an id, the bits of a hash. */
export const operandAt: usize = foldAt + needleBytesMax + 64;
export const operandBytesMax: usize = 65536 + 64;

export const scratchBytes: usize = operandAt + operandBytesMax;
