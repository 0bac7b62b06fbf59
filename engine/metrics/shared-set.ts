/**
 * Sets of 64-bit numbers in shared memory, which all threads read and extend: hash tables with open addressing, at most
 * half full, whose length is a power of two. 0 marks a free slot.
 */

/** An empty set with room for so many members. */
export function makeSharedSet(membersMax: number): BigInt64Array {
  const length = 2 ** Math.ceil(Math.log2(Math.max(64, membersMax * 2)));
  return new BigInt64Array(new SharedArrayBuffer(length * 8));
}

/** Joins the halves of a hash to a member. 0 becomes 1, because 0 marks free slots. */
export function toMember(high: number, low: number): bigint {
  const member = (BigInt(high | 0) << 32n) | BigInt(low);
  return member === 0n ? 1n : member;
}

export function hasMember(slots: BigInt64Array, member: bigint): boolean {
  const mask = slots.length - 1;
  for (let slot = firstSlot(member, mask); ; slot = (slot + 1) & mask) {
    const found = Atomics.load(slots, slot);
    if (found === member) return true;
    if (found === 0n) return false;
  }
}

/**
 * Whether a set surely has the member with these halves, by the words of its slots: without a BigInt. A member that another
 * thread is adding may not be found yet.
 */
export function hasWords(words: Uint32Array, high: number, low: number): boolean {
  // See `toMember`.
  const lower = high === 0 && low === 0 ? 1 : low;
  const upper = high >>> 0;
  const mask = words.length - 1;
  for (let at = (lower * 2) & mask; ; at = (at + 2) & mask) {
    const foundLow = words[at]!;
    const foundHigh = words[at + 1]!;
    if (foundLow === lower && foundHigh === upper) return true;
    if (foundLow === 0 && foundHigh === 0) return false;
  }
}

/** The words of a set's slots: low and high halves. */
export function wordsOf({ buffer, byteOffset, length }: BigInt64Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length * 2);
}

/** Adds a member; returns false where it was there already. */
export function addMember(slots: BigInt64Array, member: bigint): boolean {
  const mask = slots.length - 1;
  for (let slot = firstSlot(member, mask); ; slot = (slot + 1) & mask) {
    const found = Atomics.compareExchange(slots, slot, 0n, member);
    if (found === 0n) return true;
    if (found === member) return false;
  }
}

function firstSlot(member: bigint, mask: number): number {
  return Number(BigInt.asUintN(32, member)) & mask;
}
