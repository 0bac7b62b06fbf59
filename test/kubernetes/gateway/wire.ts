/** Writes and splits protobuf messages by hand, without the code under test. */

/** A number in seven-bit groups, with so many bytes more than it needs. */
export function varint(value: number | bigint, extra = 0): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  for (let i = 0; i < extra; i++) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(0);
  }
  return Buffer.from(bytes);
}

export function bytesField(number: number, content: Uint8Array | string, extra = 0): Buffer {
  const bytes = Buffer.from(content as Uint8Array);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length, extra), bytes]);
}

export function varintField(number: number, value: number | bigint): Buffer {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

export function fixedField(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

export function doubleField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}

export interface WireField {
  number: number;
  wireType: number;
  /** The whole field with its tag. */
  raw: Buffer;
  /** What follows the length, of a field of bytes. */
  content: Buffer;
}

/** The fields of a message. Throws where it is malformed. */
export function splitFields(message: Buffer): WireField[] {
  const fields: WireField[] = [];
  let at = 0;
  const read = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= message.length) throw new Error("ends within a number");
      const byte = message[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asUintN(32, value));
    }
  };
  while (at < message.length) {
    const from = at;
    const tag = read();
    const wireType = tag & 7;
    let contentFrom = at;
    if (wireType === 0) read();
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = read();
      contentFrom = at;
      at += length;
    } else throw new Error(`wire type ${wireType}`);
    if (at > message.length) throw new Error("ends within a field");
    fields.push({
      number: tag >>> 3,
      wireType,
      raw: message.subarray(from, at),
      content: message.subarray(contentFrom, at),
    });
  }
  return fields;
}
