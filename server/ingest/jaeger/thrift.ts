/** Reads structures in Thrift's binary protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md). */

import { Refusal } from "../../throttle/refusal.ts";

/** Structures within each other. Jaeger's have four. */
const depthMax = 16;

/** Types by their number. */
const Type = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  i16: 6,
  i32: 8,
  i64: 10,
  string: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
} as const;

/** Values by the numbers of their fields. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
export type ThriftValue = boolean | number | bigint | Buffer | readonly ThriftValue[] | ThriftStruct;

export class ThriftReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Throws Refusal 400 where the bytes are none. */
  readStruct(depth = 0): ThriftStruct {
    if (depth > depthMax) throw makeThriftRefusal(`nested more than ${depthMax} deep`);
    const fields = new Map<number, ThriftValue>();
    for (;;) {
      const type = this.#bytes[this.#move(1)]!;
      if (type === Type.stop) return fields;
      const number = this.#bytes.readInt16BE(this.#move(2));
      fields.set(number, this.#readValue(type, depth + 1));
    }
  }

  #readValue(type: number, depth: number): ThriftValue {
    const bytes = this.#bytes;
    switch (type) {
      case Type.bool:
        return bytes[this.#move(1)] !== 0;
      case Type.byte:
        return bytes.readInt8(this.#move(1));
      case Type.double:
        return bytes.readDoubleBE(this.#move(8));
      case Type.i16:
        return bytes.readInt16BE(this.#move(2));
      case Type.i32:
        return bytes.readInt32BE(this.#move(4));
      case Type.i64:
        return bytes.readBigInt64BE(this.#move(8));
      case Type.string:
        return this.#readBytes();
      case Type.struct:
        return this.readStruct(depth);
      case Type.map:
        return this.#readPairs(depth);
      case Type.set:
      case Type.list:
        return this.#readList(depth);
      default:
        throw makeThriftRefusal(`type ${type} at byte ${this.#at} is none of the protocol's`);
    }
  }

  #readBytes(): Buffer {
    const length = this.#bytes.readInt32BE(this.#move(4));
    const from = this.#move(length);
    return this.#bytes.subarray(from, from + length);
  }

  #readList(depth: number): ThriftValue[] {
    if (depth > depthMax) throw makeThriftRefusal(`nested more than ${depthMax} deep`);
    const type = this.#bytes[this.#move(1)]!;
    const length = this.#bytes.readInt32BE(this.#move(4));
    const list: ThriftValue[] = [];
    for (let i = 0; i < length; i++) list.push(this.#readValue(type, depth + 1));
    return list;
  }

  /** Keys and values in turn. */
  #readPairs(depth: number): ThriftValue[] {
    if (depth > depthMax) throw makeThriftRefusal(`nested more than ${depthMax} deep`);
    const types = this.#move(2);
    const [keyType, valueType] = [this.#bytes[types]!, this.#bytes[types + 1]!];
    const pairs = this.#bytes.readInt32BE(this.#move(4));
    const list: ThriftValue[] = [];
    for (let i = 0; i < pairs; i++)
      list.push(this.#readValue(keyType, depth + 1), this.#readValue(valueType, depth + 1));
    return list;
  }

  /** Moves past so many bytes; returns where they begin. */
  #move(bytes: number): number {
    const from = this.#at;
    if (bytes < 0 || from + bytes > this.#bytes.length) throw makeThriftRefusal("it is cut short");
    this.#at = from + bytes;
    return from;
  }
}

function makeThriftRefusal(problem: string): Refusal {
  return new Refusal(400, `the body is not in Thrift's binary protocol: ${problem}`);
}
