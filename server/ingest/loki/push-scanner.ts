/** Reads fields of Loki's push request from the bytes of protobuf, as strictly as decoders of protobuf do. */

import type { BodyBuffer } from "../body-buffer.ts";
import { makeProtobufRefusal, ProtoScanner } from "../protobuf-scanner.ts";

/** Wire types of groups, an old form of messages, which end with a tag of their own. */
const Wire = { groupStart: 3, groupEnd: 4 } as const;
/** Depth of groups in each other. */
const nestingMax = 100;
/** Bytes of a number below 2^32. */
const numberBytesMax = 5;

export class PushScanner extends ProtoScanner {
  readonly buffer: BodyBuffer;
  /** The text that was read last. */
  from = 0;
  to = 0;

  constructor(buffer: BodyBuffer) {
    super(buffer);
    this.buffer = buffer;
  }

  /** Reads a text. Throws Refusal 400 where it is not valid UTF-8. */
  readText(end: number): void {
    this.to = this.readFieldEnd(end);
    this.from = this.at;
    this.at = this.to;
    if (!this.buffer.isText(this.from, this.to)) throw makeProtobufRefusal("a text is not valid UTF-8");
  }

  override readVarint(end: number): number {
    const { at } = this;
    const number = super.readVarint(end);
    const byteLength = this.at - at;
    if (byteLength > numberBytesMax || (byteLength === numberBytesMax && this.high !== 0))
      throw makeProtobufRefusal("a tag or a length has more than 32 bits");
    return number;
  }

  override skip(tag: number, end: number): void {
    this.#skip(tag, end, 0);
  }

  #skip(tag: number, end: number, depth: number): void {
    if (tag >>> 3 === 0) throw makeProtobufRefusal("a field has the number 0");
    if ((tag & 7) !== Wire.groupStart) {
      super.skip(tag, end);
      return;
    }
    if (depth > nestingMax) throw makeProtobufRefusal("its groups are nested too deeply");
    for (;;) {
      const inner = this.readVarint(end);
      if ((inner & 7) === Wire.groupEnd) {
        if (inner >>> 3 === tag >>> 3) return;
        throw makeProtobufRefusal("a group ends with the tag of another");
      }
      this.#skip(inner, end, depth + 1);
    }
  }
}
