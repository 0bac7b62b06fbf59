/**
 * Leaves excluded records out of OTLP bodies in protobuf without decoding them. It reads only what rules test; records
 * that are kept, and everything around them, keep their bytes.
 */

import { ExclusionFilter } from "../../../../engine/index.ts";
import { BodyBuffer } from "../../../ingest/body-buffer.ts";
import { ProtoScanner } from "../../../ingest/protobuf-scanner.ts";
import { LogReader } from "./log-reader.ts";
import { PointReader } from "./point-reader.ts";
import type { RecordReader, WireReaders } from "./record-reader.ts";
import { SharedTexts } from "./shared-texts.ts";
import { SpanReader } from "./span-reader.ts";
import { TestedAttributes } from "./tested-attributes.ts";
import type { GatewaySignal, TestedFields } from "./tested-fields.ts";
import { type FieldPlace, WireEdits } from "./wire-edits.ts";

const resourcesTag = 0x0a;
const resourceTag = 0x0a;
const scopeTag = 0x0a;
const resourceAttributesTag = 0x0a;
const ScopeTag = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;

const readerOf: Readonly<Record<GatewaySignal, new (readers: WireReaders) => RecordReader>> = {
  logs: LogReader,
  traces: SpanReader,
  metrics: PointReader,
};

export interface FilteredBody {
  /** The same object where nothing was left out; undefined where nothing is left. */
  body: Uint8Array | undefined;
  /** Numbers of records (points of metrics) that were left out, by the index of the exclusion. */
  dropped: Uint32Array;
}

/** Throws Refusal 400 where the body is not valid protobuf, as far as it is read. */
export function filterProtobuf(body: Uint8Array, signal: GatewaySignal, fields: TestedFields): FilteredBody {
  if (fields.exclusions.length === 0) return { body, dropped: new Uint32Array(0) };
  return new WireFilter(body, signal, fields).filter();
}

class WireFilter {
  readonly #body: Uint8Array;
  readonly #readers: WireReaders;
  readonly #record: RecordReader;
  readonly #edits = new WireEdits();
  readonly #dropped: Uint32Array;
  readonly #resource: SharedTexts;
  /** Texts of the current resource and scope. */
  readonly #shared: SharedTexts;
  readonly #scopeName: number;
  readonly #scopeVersion: number;
  /** Start of the scratch area for the texts of a resource; those of a scope and of a record follow. */
  readonly #scratchFrom: number;
  #recordScratchFrom = 0;
  /** Records so far. */
  #kept = 0;
  #leftOut = 0;

  constructor(body: Uint8Array, signal: GatewaySignal, fields: TestedFields) {
    this.#body = body;
    const buffer = new BodyBuffer(body);
    const scanner = new ProtoScanner(buffer);
    const attributes = new TestedAttributes(buffer, scanner, fields.attributes);
    const texts = new ExclusionFilter(fields.exclusions);
    this.#readers = { buffer, scanner, attributes, fields, texts };
    this.#record = new readerOf[signal](this.#readers);
    this.#dropped = new Uint32Array(fields.exclusions.length);
    this.#resource = new SharedTexts(fields.count);
    this.#shared = new SharedTexts(fields.count);
    this.#scopeName = fields.findAttribute("otel.scope.name");
    this.#scopeVersion = fields.findAttribute("otel.scope.version");
    this.#scratchFrom = buffer.at;
  }

  filter(): FilteredBody {
    const isEmptied = this.#visit(-1, 0, this.#body.length);
    const dropped = this.#dropped;
    if (isEmptied) return { body: undefined, dropped };
    return { body: this.#edits.isEmpty ? this.#body : this.#edits.apply(this.#body), dropped };
  }

  /**
   * Visits the messages within the message [from, to): resources at level -1, scopes at 0, and so on down to records.
   * Returns whether it had records and none of them is left.
   */
  #visit(level: number, from: number, to: number): boolean {
    const { scanner } = this.#readers;
    const isLeaf = level + 1 === this.#record.levels;
    const keptBefore = this.#kept;
    const leftOutBefore = this.#leftOut;
    scanner.at = from;
    while (scanner.at < to) {
      const fieldFrom = scanner.at;
      const tag = scanner.readVarint(to);
      if (!(level < 0 ? tag === resourcesTag : this.#record.isChild(level, tag))) {
        scanner.skip(tag, to);
        continue;
      }
      const lengthFrom = scanner.at;
      const end = scanner.readFieldEnd(to);
      if (isLeaf) this.#visitRecord(fieldFrom, end);
      else this.#visitMessage(tag, level, { from: fieldFrom, lengthFrom, contentFrom: scanner.at, to: end });
      scanner.at = end;
    }
    return this.#leftOut > leftOutBefore && this.#kept === keptBefore;
  }

  #visitMessage(tag: number, level: number, place: FieldPlace): void {
    const { contentFrom, to } = place;
    this.#edits.begin();
    const isWhole = level < 0 && this.#readResource(contentFrom, to);
    if (level === 0) this.#readScope(contentFrom, to);
    if (level > 0) this.#record.enter(tag, level + 1, to);
    if (isWhole || this.#visit(level + 1, contentFrom, to)) this.#edits.leaveOut(place);
    else this.#edits.end(place);
  }

  #visitRecord(from: number, to: number): void {
    const { buffer, texts } = this.#readers;
    buffer.at = this.#recordScratchFrom;
    texts.beginRow();
    this.#shared.copyTo(texts);
    const exclusion = this.#record.findExclusion(to);
    if (exclusion < 0) this.#kept++;
    else {
      this.#leaveOut(exclusion, 1);
      this.#edits.cut(from, to);
    }
  }

  #leaveOut(exclusion: number, records: number): void {
    this.#leftOut += records;
    this.#dropped[exclusion]! += records;
  }

  /** Reads the attributes of a resource. Returns whether it alone decides that all of its records are left out. */
  #readResource(from: number, to: number): boolean {
    const { scanner, buffer, attributes } = this.#readers;
    buffer.at = this.#scratchFrom;
    this.#resource.clear();
    const resource = this.#findLast(from, to, resourceTag);
    scanner.forEachField(resource.from, resource.to, resourceAttributesTag, (_, end) =>
      attributes.read(end, this.#resource),
    );
    this.#shared.clear();
    this.#resource.copyTo(this.#shared);
    this.#recordScratchFrom = buffer.at;
    return this.#isResourceExcluded(from, to, resource);
  }

  #isResourceExcluded(from: number, to: number, resource: Range): boolean {
    const { buffer, texts, fields } = this.#readers;
    texts.beginRow();
    this.#resource.copyTo(texts);
    const exclusion = texts.findExclusion(buffer);
    if (exclusion < 0) return false;
    const words = fields.wordsThatOverride(exclusion);
    if (words === undefined) return false;
    const before = this.#body.subarray(from, resource.from) as Buffer;
    const after = this.#body.subarray(resource.to, to) as Buffer;
    const has = (word: Buffer) => includes(before, word) || includes(after, word);
    if (words.some(has)) return false;
    const records = this.#countRecords(0, from, to);
    this.#leaveOut(exclusion, records);
    return records > 0;
  }

  #countRecords(level: number, from: number, to: number): number {
    const { scanner } = this.#readers;
    const isLeaf = level + 1 === this.#record.levels;
    let records = 0;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (!this.#record.isChild(level, tag)) {
        scanner.skip(tag, to);
        continue;
      }
      const end = scanner.readFieldEnd(to);
      records += isLeaf ? 1 : this.#countRecords(level + 1, scanner.at, end);
      scanner.at = end;
    }
    return records;
  }

  #readScope(from: number, to: number): void {
    const { scanner, buffer, attributes } = this.#readers;
    const shared = this.#shared;
    shared.clear();
    this.#resource.copyTo(shared);
    const scope = this.#findLast(from, to, scopeTag);
    scanner.at = scope.from;
    while (scanner.at < scope.to) {
      const tag = scanner.readVarint(scope.to);
      if ((tag & 7) !== 2) {
        scanner.skip(tag, scope.to);
        continue;
      }
      const end = scanner.readFieldEnd(scope.to);
      if (tag === ScopeTag.attributes) attributes.read(end, shared);
      else if (tag === ScopeTag.name) this.#putText(this.#scopeName, end);
      else if (tag === ScopeTag.version) this.#putText(this.#scopeVersion, end);
      scanner.at = end;
    }
    this.#recordScratchFrom = buffer.at;
  }

  /** An empty name is none. */
  #putText(field: number, to: number): void {
    const { scanner, attributes } = this.#readers;
    if (field < 0) return;
    attributes.value.setText(scanner.at, to);
    const { from, to: end } = attributes.value;
    if (end > from) this.#shared.setText(field, from, end);
  }

  /** The content of the last field with this tag; an empty range where there is none. */
  #findLast(from: number, to: number, wantedTag: number): Range {
    const found = { from, to: from };
    this.#readers.scanner.forEachField(from, to, wantedTag, (fieldFrom, fieldTo) => {
      found.from = fieldFrom;
      found.to = fieldTo;
    });
    return found;
  }
}

interface Range {
  from: number;
  to: number;
}

function includes(bytes: Uint8Array, word: Buffer): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(word);
}
