/** Typed arrays that grow, and are cut to their length at the end. */

type PlainArray = (Uint8Array | Int32Array | Uint32Array | Float64Array) & { buffer: ArrayBuffer };

/** A longer copy, with zeros after the old elements. */
export function growArray<A extends PlainArray>(array: A, length: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length);
  larger.set(array);
  return larger;
}

/**
 * The first `length` elements of an array that is not used any more. They are copied where the rest is long: a message to
 * another thread carries the whole underlying buffer.
 */
export function cutArray<A extends PlainArray>(array: A, length: number): A {
  const isMostOfIt = length >= (array.length / 8) * 7;
  return (isMostOfIt ? array.subarray(0, length) : array.slice(0, length)) as A;
}
