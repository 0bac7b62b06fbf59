/** Texts as bytes: compared and copied, eight and sixteen bytes at a time. */

/** Copies a text; up to 15 bytes after the target may be overwritten. */
@inline
export function copyText(to: usize, from: usize, length: u32): void {
  if (length > 64) {
    memory.copy(to, from, length);
    return;
  }
  for (let at: usize = 0; at < length; at += 16) v128.store(to + at, v128.load(from + at));
}

/** A word whose lowest bytes, so many of them, are all ones; fewer than eight. */
@inline
export function maskOf(length: u32): u64 {
  return ((<u64>1) << ((<u64>length) << 3)) - 1;
}

/** Reads up to 7 bytes after both texts. */
@inline
export function sameBytes(a: usize, b: usize, length: u32): bool {
  let left = length;
  for (; left >= 8; left -= 8, a += 8, b += 8) if (load<u64>(a) != load<u64>(b)) return false;
  return ((load<u64>(a) ^ load<u64>(b)) & maskOf(left)) == 0;
}
