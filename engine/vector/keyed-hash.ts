/** A hash with a secret, for tables whose texts somebody may have chosen to collide. */
import { randomInt } from "node:crypto";

/**
 * A hash table that is half full never takes as many probes for a new entry, with a hash that nobody chose the entries for. One that
 * does goes over to `hashWithKey`.
 */
export const probesMax = 128;

export type HashKey = readonly [number, number];

/** A key of this thread, which nobody else knows. */
export const threadKey: HashKey = [randomInt(2 ** 32), randomInt(2 ** 32)];

const state = new Int32Array(4);

/**
 * HalfSipHash-1-3 of bytes [from, to) of the view, as an unsigned number (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
 * short-input PRF"; the variant of 32-bit words). It takes several times as long as `hashBytes`.
 */
export function hashWithKey(view: DataView, from: number, to: number, key: HashKey): number {
  state[0] = key[0];
  state[1] = key[1];
  state[2] = 0x6c796765 ^ key[0];
  state[3] = 0x74656462 ^ key[1];
  let at = from;
  for (; at + 4 <= to; at += 4) mixWord(view.getInt32(at, true));
  let tail = (to - from) << 24;
  for (let i = at; i < to; i++) tail |= view.getUint8(i) << ((i - at) * 8);
  mixWord(tail);
  state[2]! ^= 0xff;
  for (let round = 0; round < 3; round++) mixRound();
  return (state[1]! ^ state[3]!) >>> 0;
}

function mixWord(word: number): void {
  state[3]! ^= word;
  mixRound();
  state[0]! ^= word;
}

function mixRound(): void {
  let v0 = state[0]!;
  let v1 = state[1]!;
  let v2 = state[2]!;
  let v3 = state[3]!;
  v0 = (v0 + v1) | 0;
  v1 = rotate(v1, 5) ^ v0;
  v0 = rotate(v0, 16);
  v2 = (v2 + v3) | 0;
  v3 = rotate(v3, 8) ^ v2;
  v0 = (v0 + v3) | 0;
  v3 = rotate(v3, 7) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = rotate(v1, 13) ^ v2;
  v2 = rotate(v2, 16);
  state[0] = v0;
  state[1] = v1;
  state[2] = v2;
  state[3] = v3;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
