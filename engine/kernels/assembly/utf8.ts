/** Checks texts that are sent as bytes. */

const highBits: u64 = 0x8080_8080_8080_8080;

/** Whether the bytes [from, to) are valid UTF-8. Reads up to 15 bytes after them. */
@inline
export function isUtf8(from: usize, to: usize): bool {
  let at = from;
  while (at < to) {
    const high = i8x16.bitmask(v128.load(at));
    if (high != 0) {
      at += ctz(high);
      return at >= to || isEncoded(at, to);
    }
    at += 16;
  }
  return true;
}

/** The same, for bytes of which the first is no ASCII. */
function isEncoded(from: usize, to: usize): bool {
  let at = from;
  while (at < to) {
    if (at + 8 <= to && (load<u64>(at) & highBits) == 0) {
      at += 8;
      continue;
    }
    const length = characterLength(at);
    if (length == 0 || at + length > to) return false;
    at += length;
  }
  return true;
}

@inline
function isContinuation(byte: u32): bool {
  return (byte & 0xc0) == 0x80;
}

/** The bytes of the character that begins here; 0 where none does. It has the shortest form, and is no surrogate. */
function characterLength(at: usize): u32 {
  const first: u32 = load<u8>(at);
  if (first < 0x80) return 1;
  const second: u32 = load<u8>(at, 1);
  if (first < 0xc2 || first > 0xf4 || !isContinuation(second)) return 0;
  if (first < 0xe0) return 2;
  if (!isContinuation(load<u8>(at, 2))) return 0;
  const point = ((first & 0x0f) << 6) | (second & 0x3f);
  // The bits of the first two bytes: below 0x20 the character would fit two bytes, from 0x360 on it is a surrogate.
  if (first < 0xf0) return point < 0x20 || (point >= 0x360 && point < 0x380) ? 0 : 3;
  return isContinuation(load<u8>(at, 3)) && point >= 0x10 && point < 0x110 ? 4 : 0;
}
