/** Writes the few kinds of MessagePack values that the server itself sends. */

/** A value to be written. */
export type Packable =
  | string
  | boolean
  | Uint8Array
  | readonly Packable[]
  | { readonly [key: string]: Packable };

export function writeMessagePack(value: Packable): Buffer {
  if (typeof value === "boolean") return Buffer.of(value ? 0xc3 : 0xc2);
  if (typeof value === "string") {
    const text = Buffer.from(value, "utf8");
    return Buffer.concat([writeHead(0xdb, text.length), text]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([writeHead(0xc6, value.length), value]);
  if (isList(value)) return Buffer.concat([writeHead(0xdd, value.length), ...value.map(writeMessagePack)]);
  const members = Object.entries(value).flat().map(writeMessagePack);
  return Buffer.concat([writeHead(0xdf, members.length / 2), ...members]);
}

function isList(value: Packable): value is readonly Packable[] {
  return Array.isArray(value);
}

/** The form of each kind that has four bytes of length. */
function writeHead(first: number, length: number): Buffer {
  const head = Buffer.alloc(5, first);
  head.writeUInt32BE(length, 1);
  return head;
}
