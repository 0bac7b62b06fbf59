/** Divides an OTLP body in protobuf into two bodies with the same resources and scopes. Records keep their bytes. */

import { BodyBuffer } from "../../../ingest/body-buffer.ts";
import { ProtoScanner } from "../../../ingest/protobuf-scanner.ts";
import { makeVarint } from "./wire-edits.ts";

/** Tags of what is divided: resources of a body, scopes of a resource, records (or metrics) of a scope. */
const childTags = [0x0a, 0x12, 0x12];

interface Field {
  from: number;
  contentFrom: number;
  to: number;
}

/** Undefined where the body has a single record. Throws Refusal 400 where it is not valid protobuf. */
export function halveProtobuf(body: Uint8Array): [Uint8Array, Uint8Array] | undefined {
  return new WireHalves(body).halve(0, 0, body.length);
}

class WireHalves {
  readonly #body: Uint8Array;
  readonly #scanner: ProtoScanner;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#scanner = new ProtoScanner(new BodyBuffer(body));
  }

  /** Halves the message [from, to). What is no child, such as the resource, goes into both halves. */
  halve(level: number, from: number, to: number): [Uint8Array, Uint8Array] | undefined {
    const { children, others } = this.#readFields(level, from, to);
    const [first] = children;
    if (first === undefined) return undefined;
    if (children.length > 1) {
      const middle = findMiddle(children);
      const join = (part: readonly Field[]) =>
        Buffer.concat([...others, ...part.map((each) => this.#copy(each))]);
      return [join(children.slice(0, middle)), join(children.slice(middle))];
    }
    if (level + 1 === childTags.length) return undefined;
    const halves = this.halve(level + 1, first.contentFrom, first.to);
    if (halves === undefined) return undefined;
    const wrap = (half: Uint8Array) =>
      Buffer.concat([...others, Uint8Array.of(childTags[level]!), makeVarint(half.length), half]);
    return [wrap(halves[0]), wrap(halves[1])];
  }

  #readFields(level: number, from: number, to: number) {
    const scanner = this.#scanner;
    const children: Field[] = [];
    const others: Uint8Array[] = [];
    scanner.at = from;
    while (scanner.at < to) {
      const fieldFrom = scanner.at;
      const tag = scanner.readVarint(to);
      if (tag === childTags[level]) {
        const end = scanner.readFieldEnd(to);
        children.push({ from: fieldFrom, contentFrom: scanner.at, to: end });
        scanner.at = end;
      } else {
        scanner.skip(tag, to);
        others.push(this.#body.subarray(fieldFrom, scanner.at));
      }
    }
    return { children, others };
  }

  #copy({ from, to }: Field): Uint8Array {
    return this.#body.subarray(from, to);
  }
}

/** How many fields the first half has: about half of their bytes, and neither none nor all of them. */
function findMiddle(fields: readonly Field[]): number {
  const total = fields.reduce((sum, { from, to }) => sum + to - from, 0);
  let bytes = 0;
  const middle = fields.findIndex(({ from, to }) => {
    bytes += to - from;
    return bytes * 2 >= total;
  });
  return Math.min(middle + 1, fields.length - 1);
}
