/** Bitmaps over the rows of a vector: one bit per row, least significant bit first, as in Arrow's validity bitmaps. */

export type Bitmap = Uint8Array;

function bitmapBytes(rows: number): number {
  return (rows + 7) >> 3;
}

export function emptyBitmap(rows: number): Bitmap {
  return new Uint8Array(bitmapBytes(rows));
}

export function hasBit(bitmap: Bitmap, row: number): boolean {
  return ((bitmap[row >> 3]! >> (row & 7)) & 1) === 1;
}

export function setBit(bitmap: Bitmap, row: number): void {
  bitmap[row >> 3] = bitmap[row >> 3]! | (1 << (row & 7));
}

/** Whether all bits in [from, to) are set. */
export function areBitsSet(bits: Bitmap, from: number, to: number): boolean {
  for (let at = from; at < to; ) {
    if ((at & 7) === 0 && at + 8 <= to) {
      if (bits[at >> 3] !== 0xff) return false;
      at += 8;
    } else if (!hasBit(bits, at++)) return false;
  }
  return true;
}

export function clearBit(bitmap: Bitmap, row: number): void {
  bitmap[row >> 3] = bitmap[row >> 3]! & ~(1 << (row & 7));
}

/** a := a and b */
export function intersect(a: Bitmap, b: Bitmap): void {
  for (let i = 0; i < a.length; i++) a[i] = a[i]! & b[i]!;
}

/** a := a or b */
export function unite(a: Bitmap, b: Bitmap): void {
  for (let i = 0; i < a.length; i++) a[i] = a[i]! | b[i]!;
}

/** a := a without b */
export function subtract(a: Bitmap, b: Bitmap): void {
  for (let i = 0; i < a.length; i++) a[i] = a[i]! & ~b[i]!;
}

export function isEmptyBitmap(bitmap: Bitmap): boolean {
  for (let i = 0; i < bitmap.length; i++) if (bitmap[i] !== 0) return false;
  return true;
}
