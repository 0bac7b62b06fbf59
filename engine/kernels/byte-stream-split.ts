/**
 * Byte-stream split, as Parquet calls it: of numbers of several bytes first the lowest byte of each, then the second
 * byte of each, and so on. High bytes change little from number to number, so they compress better when they lie
 * together.
 */

/** Greatest number of bytes of a number, and so of streams: numbers are below 2^53. */
export const integerWidthMax = 7;

/** Splits non-negative whole numbers below 2^53 into as few streams as the largest needs (0 where all are 0). */
export function splitIntegers(values: Float64Array): { width: number; bytes: Uint8Array } {
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  let width = 0;
  for (let bound = 1; bound <= largest; bound *= 256) width++;
  const count = values.length;
  const bytes = new Uint8Array(count * width);
  for (let stream = 0, at = 0; stream < width; stream++) {
    const shift = (stream % 4) * 8;
    // A shift takes the lowest 32 bits of a number, however large it is. A typed array keeps the lowest 8 of what it gets.
    if (stream < 4) for (let row = 0; row < count; row++) bytes[at++] = values[row]! >>> shift;
    else for (let row = 0; row < count; row++) bytes[at++] = Math.floor(values[row]! / 2 ** 32) >>> shift;
  }
  return { width, bytes };
}

/** Splits numbers of `width` bytes that lie one after the other. */
export function splitByteStreams(bytes: Uint8Array, width: number): Uint8Array {
  if (width === 1) return bytes;
  const streams = new Uint8Array(bytes.byteLength);
  const count = bytes.byteLength / width;
  for (let stream = 0, target = 0; stream < width; stream++)
    for (let row = 0, at = stream; row < count; row++, at += width) streams[target++] = bytes[at]!;
  return streams;
}
