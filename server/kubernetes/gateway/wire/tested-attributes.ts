/** Reads those attributes of a protobuf message that rules test into the filter. */

import type { BodyBuffer } from "../../../ingest/body-buffer.ts";
import { flatDepthMax } from "../../../ingest/limits.ts";
import { PairTag, WireValue } from "../../../ingest/otlp/wire-value.ts";
import type { ProtoScanner } from "../../../ingest/protobuf-scanner.ts";
import type { AttributeIndex } from "./attribute-numbers.ts";

/** Takes the text at [from, to) of the body buffer for a field. */
export interface FieldTexts {
  setText(field: number, from: number, to: number): void;
}

/** Flattens maps as the hub does when it stores them, so that a rule tests the text that would be stored. */
export class TestedAttributes {
  readonly value: WireValue;
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;
  readonly #index: AttributeIndex;

  constructor(buffer: BodyBuffer, scanner: ProtoScanner, index: AttributeIndex) {
    this.#buffer = buffer;
    this.#scanner = scanner;
    this.#index = index;
    this.value = new WireValue(buffer, scanner);
  }

  /** Reads the KeyValue at [scanner.at, end), and leaves the scanner at its end. */
  read(end: number, texts: FieldTexts): void {
    const scanner = this.#scanner;
    let keyFrom = 0;
    let keyTo = 0;
    let valueFrom = -1;
    let valueTo = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === PairTag.key) {
        keyTo = scanner.readFieldEnd(end);
        keyFrom = scanner.at;
        scanner.at = keyTo;
      } else if (tag === PairTag.value) {
        valueTo = scanner.readFieldEnd(end);
        valueFrom = scanner.at;
        scanner.at = valueTo;
      } else scanner.skip(tag, end);
    }
    if (valueFrom < 0) return;
    const found = this.#index.find(this.#buffer.bytes, keyFrom, keyTo);
    if (found === undefined) return;
    scanner.at = valueFrom;
    if (this.value.read(valueTo)) this.#put(found, 1, texts);
    scanner.at = end;
  }

  /** Puts the value that was read last; `depth` counts the maps around it, from 1. */
  #put(
    { name, field, isPrefix }: { name: string; field: number; isPrefix: boolean },
    depth: number,
    texts: FieldTexts,
  ): void {
    if (this.value.isMap && depth < flatDepthMax) {
      if (isPrefix) this.#putMembers(name, depth, texts);
      return;
    }
    if (field < 0) return;
    if (this.value.isMap) this.value.toJson();
    texts.setText(field, this.value.from, this.value.to);
  }

  #putMembers(prefix: string, depth: number, texts: FieldTexts): void {
    const scanner = this.#scanner;
    const { from, to } = this.value;
    scanner.forEachField(from, to, PairTag.key, (_, end) => {
      this.#putMember(prefix, end, depth + 1, texts);
    });
  }

  #putMember(prefix: string, end: number, depth: number, texts: FieldTexts): void {
    const scanner = this.#scanner;
    let key = "";
    let hasValue = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === PairTag.key) {
        const to = scanner.readFieldEnd(end);
        key = this.#buffer.bytes.toString("utf8", scanner.at, to);
        scanner.at = to;
      } else if (tag === PairTag.value) hasValue = this.value.read(scanner.readFieldEnd(end));
      else scanner.skip(tag, end);
    }
    if (!hasValue) return;
    const name = prefix === "" ? key : `${prefix}.${key}`;
    this.#put({ name, field: this.#index.fieldOf(name), isPrefix: this.#index.isPrefix(name) }, depth, texts);
  }
}
