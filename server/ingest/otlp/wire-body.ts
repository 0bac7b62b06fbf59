/**
 * Reads OTLP bodies from the bytes of protobuf: resources, their scopes, and the records of each scope. Attributes of a
 * resource or a scope apply to each of its records, unless the record has the key itself.
 */

import { type OtlpRecords, RowRanges } from "../../../engine/index.ts";
import { BodyBuffer } from "../body-buffer.ts";
import { refuseBodyOnProblem } from "../json/json-row.ts";
import { flatKeysMax, ingestKeysMax, sharedAttributeCost } from "../limits.ts";
import { ProtoScanner } from "../protobuf-scanner.ts";
import type { RowSink } from "../row-sink.ts";
import { serviceKey, serviceNameOf } from "../service-name.ts";
import { WireAttributes } from "./wire-attributes.ts";

/** Field tags, the same in requests of logs and of traces. */
const Tag = { resources: 0x0a, resource: 0x0a, scopes: 0x12, scope: 0x0a, records: 0x12 } as const;
const resourceAttributesTag = 0x0a;
const ScopeTag = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;

/** Room for texts of one record that are stored in another form than they were sent. A record with more is unusual. */
const recordTextBytes = 4096;

/** After so many unusual records one after the other, only every so many-th of those that follow is tried as a usual one. */
const unusualRecords = 8;

/** A wrong resource or scope makes the whole body wrong. */
const wrongResource = "a resource: ";

/** The readers and the sink that all records of a body are read with. */
export interface WireTools {
  buffer: BodyBuffer;
  scanner: ProtoScanner;
  attributes: WireAttributes;
  sink: RowSink;
}

export interface WireRecord {
  /** Keys of attributes that come from fields of a record, in the order in which kernels know these fields. */
  readonly fieldKeys: readonly number[];
  /** Reads the record at [scanner.at, end) into the row, whose attributes were begun before. Throws RowProblem. */
  read(row: RowRanges, end: number): void;
}

export class WireBody {
  readonly #tools: WireTools;
  readonly #record: WireRecord;
  /** Reads most records straight into the batch. */
  readonly #records: OtlpRecords | undefined;
  readonly #row = new RowRanges();
  /** Unusual records since the last usual one. */
  #unusual = 0;
  readonly #resource = new RowRanges();
  /** Attributes of the current resource and scope, which its records share. */
  readonly #shared = new RowRanges();
  /** Number of the shared set, from 1. */
  #sharedSet = 0;
  /** Bytes that the shared attributes add to each row. */
  #sharedBytes = 0;
  /**
   * Start of the scratch area for resources. Texts of a resource begin here, those of a scope after them, those of a
   * record after both.
   */
  readonly #scratchFrom: number;
  readonly #serviceName: number;
  readonly #scopeName: number;
  readonly #scopeVersion: number;

  /** The sink's builder may already have keys: those of the signal's own fields. */
  constructor(body: Uint8Array, sink: RowSink, makeRecord: (tools: WireTools) => WireRecord) {
    const buffer = new BodyBuffer(body, sink.builder);
    const scanner = new ProtoScanner(buffer);
    const attributes = new WireAttributes(buffer, sink.builder, scanner);
    this.#tools = { buffer, scanner, attributes, sink };
    this.#serviceName = sink.builder.addKeyText(serviceKey);
    this.#scopeName = sink.builder.addKeyText("otel.scope.name");
    this.#scopeVersion = sink.builder.addKeyText("otel.scope.version");
    this.#record = makeRecord(this.#tools);
    this.#scratchFrom = buffer.at;
    this.#records = this.#openRecords();
  }

  /** Reads every record into the sink. Throws Refusal 400 where the body is not valid protobuf. */
  read(): void {
    const { bodyEnd } = this.#tools.buffer;
    this.#tools.scanner.forEachField(0, bodyEnd, Tag.resources, (from, to) => this.#readResource(from, to));
    this.#tools.sink.untimedRows += this.#records?.finish() ?? 0;
  }

  #openRecords(): OtlpRecords | undefined {
    const { sink, attributes } = this.#tools;
    const { signal, builder, arrivalMs, flattensJson } = sink;
    if (signal !== "logs" && signal !== "traces") return undefined;
    const limits = { keysMax: ingestKeysMax, membersMax: flatKeysMax };
    const keys = { reservedKeys: attributes.reservedKeys, fieldKeys: this.#record.fieldKeys };
    return builder.readOtlp({ signal, arrivalMs, flattensJson, ...limits, ...keys });
  }

  #readResource(from: number, to: number): void {
    const { buffer } = this.#tools;
    buffer.at = this.#scratchFrom;
    refuseBodyOnProblem(
      () => this.#readResourceAttributes(this.#find(from, to, Tag.resource)),
      wrongResource,
    );
    const { at: textsFrom } = buffer;
    this.#tools.scanner.forEachField(from, to, Tag.scopes, (scopesFrom, scopesTo) => {
      buffer.at = textsFrom;
      refuseBodyOnProblem(
        () => this.#readSharedAttributes(this.#find(scopesFrom, scopesTo, Tag.scope)),
        wrongResource,
      );
      this.#readRecords(scopesFrom, scopesTo);
    });
  }

  #readResourceAttributes({ from, to }: Range): void {
    const { attributes } = this.#tools;
    attributes.begin(this.#resource);
    this.#tools.scanner.forEachField(from, to, resourceAttributesTag, (_, end) => attributes.read(end));
    const name = serviceNameOf((key) => attributes.textOf(key));
    if (name !== undefined) attributes.putText(this.#serviceName, name);
  }

  #readSharedAttributes(scope: Range): void {
    const { scanner, attributes, sink } = this.#tools;
    const shared = this.#shared;
    this.#sharedSet++;
    attributes.begin(shared);
    attributes.putAll(this.#resource);
    scanner.at = scope.from;
    this.#readScope(scope.to);
    this.#sharedBytes = shared.attributes * sharedAttributeCost;
    for (let i = 0; i < shared.attributes; i++) this.#sharedBytes += shared.to[i]! - shared.from[i]!;
    sink.countRepeatedBytes(shared.attributes * sharedAttributeCost);
  }

  #readScope(end: number): void {
    const { scanner, attributes } = this.#tools;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === ScopeTag.attributes) attributes.read(scanner.readFieldEnd(end));
      else if (tag === ScopeTag.name) this.#readText(this.#scopeName, end);
      else if (tag === ScopeTag.version) this.#readText(this.#scopeVersion, end);
      else scanner.skip(tag, end);
    }
  }

  #readText(key: number, end: number): void {
    const { scanner, attributes } = this.#tools;
    const to = scanner.readFieldEnd(end);
    attributes.putRange(key, scanner.at, to);
    scanner.at = to;
  }

  #readRecords(from: number, to: number): void {
    const { buffer, scanner } = this.#tools;
    const records = this.#records?.share(this.#shared, this.#sharedSet) === true ? this.#records : undefined;
    const { at: textsFrom } = buffer;
    scanner.at = from;
    while (scanner.at < to) {
      buffer.at = textsFrom;
      const isTried = this.#unusual < unusualRecords || this.#unusual % unusualRecords === 0;
      if (records !== undefined && isTried) this.#readUsual(records, to);
      if (scanner.at >= to) break;
      this.#readField(to);
      this.#unusual++;
    }
  }

  /** Reads records straight into the batch, up to one of an unusual shape. */
  #readUsual(records: OtlpRecords, to: number): void {
    const { buffer, scanner, sink } = this.#tools;
    buffer.reserve(recordTextBytes);
    for (;;) {
      const place = { bytes: buffer.bytes, from: scanner.at, to, roomFrom: buffer.at };
      const stop = records.read(place, sink.roomFor(this.#sharedBytes));
      const { rowsRead } = records;
      sink.rows += rowsRead;
      sink.countRepeatedBytes(rowsRead * this.#sharedBytes);
      scanner.at = records.next;
      if (rowsRead > 0 || stop === "staged row") this.#unusual = 0;
      if (stop !== "staged row") return;
      sink.refuseOnProblem(() => this.#add(records.stagedRow));
    }
  }

  /** Reads a field of a scope: a record, or one that is not used. */
  #readField(to: number): void {
    const { scanner, attributes, sink } = this.#tools;
    const tag = scanner.readVarint(to);
    if (tag !== Tag.records) {
      scanner.skip(tag, to);
      return;
    }
    const end = scanner.readFieldEnd(to);
    const row = this.#row;
    attributes.begin(row);
    sink.refuseOnProblem(() => {
      this.#record.read(row, end);
      attributes.putMissing(this.#shared, this.#sharedSet);
      this.#add(row);
    });
    scanner.at = end;
  }

  #add(row: RowRanges): void {
    const { buffer, sink } = this.#tools;
    sink.countRepeatedBytes(this.#sharedBytes);
    sink.add(row, buffer.bytes);
  }

  /** Finds the last field with this tag; an empty range where there is none. */
  #find(from: number, to: number, wantedTag: number): Range {
    const found = { from, to: from };
    this.#tools.scanner.forEachField(from, to, wantedTag, (fieldFrom, fieldTo) => {
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
