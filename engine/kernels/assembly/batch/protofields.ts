/** The fields of messages in protobuf, read from their bytes. */

/** The number that was read last. */
export let varint: u64 = 0;
/** Where the bytes end whose length was read last. */
export let bytesTo: usize = 0;

/** Wire types: the lower three bits of a tag. */
const eightBytes: u32 = 1;
const bytes: u32 = 2;
const fourBytes: u32 = 5;

/** Reads a number of up to 64 bits from a message that ends at `end`. Returns the address after it; 0 where it has no end. */
@inline
export function readVarint(at: usize, end: usize): usize {
  if (at < end) {
    const first = load<u8>(at);
    if (first < 0x80) {
      varint = first;
      return at + 1;
    }
  }
  return readLongVarint(at, end);
}

function readLongVarint(from: usize, end: usize): usize {
  let number: u64 = 0;
  let at = from;
  for (let shift: u64 = 0; shift < 70 && at < end; shift += 7) {
    const byte: u64 = load<u8>(at++);
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      varint = number;
      return at;
    }
  }
  return 0;
}

/** Reads a length. Returns the address of the bytes after it, which end at `bytesTo`; 0 where they would end after `end`. */
@inline
export function readLength(at: usize, end: usize): usize {
  const from = readVarint(at, end);
  if (from == 0 || <usize>(<u32>varint) > end - from) return 0;
  bytesTo = from + <u32>varint;
  return from;
}

/** Returns the address after the value of a field with this tag; 0 where it has no end, or no known type. */
export function skipField(tag: u32, at: usize, end: usize): usize {
  switch (tag & 7) {
    case 0:
      return readVarint(at, end);
    case eightBytes:
      return end - at < 8 ? 0 : at + 8;
    case bytes:
      return readLength(at, end) == 0 ? 0 : bytesTo;
    case fourBytes:
      return end - at < 4 ? 0 : at + 4;
    default:
      return 0;
  }
}
