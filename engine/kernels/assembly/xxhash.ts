/** xxHash64 with seed 0, as vector/xxhash.ts computes it in halves of 32 bits. */

const prime1: u64 = 0x9e37_79b1_85eb_ca87;
const prime2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const prime3: u64 = 0x1656_67b1_9e37_79f9;
const prime4: u64 = 0x85eb_ca77_c2b2_ae63;
const prime5: u64 = 0x27d4_eb2f_1656_67c5;

/**
 * Writes the hash of each of `count` texts to `out`. Text i is at [offsets[i], offsets[i + 1]), counted from `bytes`; no
 * byte after the last text is read.
 */
export function fingerprintTexts(offsets: usize, bytes: usize, count: u32, out: usize): void {
  for (let i: usize = 0; i < count; i++) {
    const from = load<u32>(offsets + (i << 2));
    const to = load<u32>(offsets + (i << 2), 4);
    store<u64>(out + (i << 3), hash64(bytes + from, to - from));
  }
}

/** Writes the hash of a text and the eight bytes of a number after it to `out`. Puts both together at `room`. */
export function fingerprintWithNumber(at: usize, length: u32, low: u32, high: u32, room: usize, out: usize): void {
  memory.copy(room, at, length);
  store<u32>(room + length, low);
  store<u32>(room + length, high, 4);
  store<u64>(out, hash64(room, length + 8));
}

/** Writes the hash of one text to `out`. */
export function fingerprintText(at: usize, length: u32, out: usize): void {
  store<u64>(out, hash64(at, length));
}

function hash64(at: usize, length: u32): u64 {
  const to = at + length;
  let hash = prime5;
  if (length >= 32) {
    let a = prime1 + prime2;
    let b = prime2;
    let c: u64 = 0;
    let d = <u64>0 - prime1;
    for (; at + 32 <= to; at += 32) {
      a = round(a, load<u64>(at));
      b = round(b, load<u64>(at, 8));
      c = round(c, load<u64>(at, 16));
      d = round(d, load<u64>(at, 24));
    }
    hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += length;
  for (; at + 8 <= to; at += 8) hash = rotl<u64>(hash ^ round(0, load<u64>(at)), 27) * prime1 + prime4;
  if (at + 4 <= to) {
    hash = rotl<u64>(hash ^ (<u64>load<u32>(at) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at < to; at++) hash = rotl<u64>(hash ^ (<u64>load<u8>(at) * prime5), 11) * prime1;
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

@inline
function round(lane: u64, word: u64): u64 {
  return rotl<u64>(lane + word * prime2, 31) * prime1;
}

@inline
function merge(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * prime1 + prime4;
}
