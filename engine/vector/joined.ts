/** Vectors of several threads or chunks, one after the other. */

export function joinFloats(parts: readonly Float64Array[]): Float64Array {
  return fill(new Float64Array(lengthOf(parts)), parts);
}

export function joinInts(parts: readonly Uint32Array[]): Uint32Array {
  return fill(new Uint32Array(lengthOf(parts)), parts);
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  return fill(new Uint8Array(lengthOf(parts)), parts);
}

function lengthOf(parts: readonly { length: number }[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function fill<A extends { set: (part: A, at: number) => void; length: number }>(
  joined: A,
  parts: readonly A[],
): A {
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
