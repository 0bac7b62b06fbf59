/**
 * Bodies of OTLP in protobuf, from their bytes: resources, their scopes, and the records of those. What stands at a resource or a scope
 * holds for each of its records, unless the record says otherwise.
 */

import { RowRanges } from "../../../engine/index.ts";
import { Refusal } from "../../limits/refusal.ts";
import { RowProblem } from "../json/json-row.ts";
import { Tape } from "../json/tape.ts";
import { ProtoScanner } from "../protobuf-scanner.ts";
import type { RowSink } from "../row-sink.ts";
import { serviceKey, serviceNameOf } from "../service-name.ts";
import { WireAttributes } from "./wire-attributes.ts";

/** The same in the requests of logs and of traces. */
const Tag = { resources: 0x0a, resource: 0x0a, scopes: 0x12, scope: 0x0a, records: 0x12 } as const;
const resourceAttributesTag = 0x0a;
const ScopeTag = { name: 0x0a, version: 0x12, attributes: 0x1a } as const;

/** Bytes that an attribute weighs beside its text. */
const attributeCost = 32;

/** What reads records with. */
export interface WireTools {
  tape: Tape;
  scanner: ProtoScanner;
  attributes: WireAttributes;
  sink: RowSink;
}

export interface WireRecord {
  /** Reads the record at [scanner.at, end) to the row, for which the attributes have begun. Throws RowProblem. */
  read(row: RowRanges, end: number): void;
}

export class WireBody {
  readonly #tools: WireTools;
  readonly #record: WireRecord;
  readonly #row = new RowRanges();
  readonly #resource = new RowRanges();
  /** Attributes of the resource and the scope. */
  readonly #base = new RowRanges();
  /** Number of the base, from 1. */
  #bases = 0;
  /** What those cost each row. */
  #baseBytes = 0;
  /** Where the tape is free when no record is read; behind the attributes of the base, then behind those. */
  readonly #free: number;
  readonly #serviceName: number;
  readonly #scopeName: number;
  readonly #scopeVersion: number;

  /** The draft of the sink may have keys already, those of the signal itself. */
  constructor(body: Uint8Array, sink: RowSink, makeRecord: (tools: WireTools) => WireRecord) {
    const tape = new Tape(body, sink.draft);
    const scanner = new ProtoScanner(tape);
    const attributes = new WireAttributes(tape, sink.draft, scanner);
    this.#tools = { tape, scanner, attributes, sink };
    this.#serviceName = sink.draft.addKeyText(serviceKey);
    this.#scopeName = sink.draft.addKeyText("otel.scope.name");
    this.#scopeVersion = sink.draft.addKeyText("otel.scope.version");
    this.#record = makeRecord(this.#tools);
    this.#free = tape.at;
  }

  /** Throws Refusal 400 where the body is no protobuf. */
  read(): void {
    const { bodyEnd } = this.#tools.tape;
    this.#tools.scanner.eachField(0, bodyEnd, Tag.resources, (from, to) => this.#readResource(from, to));
  }

  #readResource(from: number, to: number): void {
    const { tape } = this.#tools;
    tape.at = this.#free;
    this.#readShared(() => this.#readResourceAttributes(this.#find(from, to, Tag.resource)));
    const { at: free } = tape;
    this.#tools.scanner.eachField(from, to, Tag.scopes, (scopesFrom, scopesTo) => {
      tape.at = free;
      this.#readShared(() => this.#readBase(this.#find(scopesFrom, scopesTo, Tag.scope)));
      this.#readRecords(scopesFrom, scopesTo);
    });
  }

  /** What is wrong with a resource or a scope is wrong with the body. */
  #readShared(read: () => void): void {
    try {
      read();
    } catch (problem) {
      throw problem instanceof RowProblem ? new Refusal(400, `a resource: ${problem.message}`) : problem;
    }
  }

  #readResourceAttributes({ from, to }: Range): void {
    const { tape, attributes } = this.#tools;
    attributes.begin(this.#resource);
    this.#tools.scanner.eachField(from, to, resourceAttributesTag, (_, end) => attributes.read(end));
    const name = serviceNameOf((key) => attributes.textOf(key));
    if (name === undefined) return;
    const { at } = tape;
    tape.write(name);
    attributes.put(this.#serviceName, at, tape.at);
  }

  #readBase(scope: Range): void {
    const { scanner, attributes, sink } = this.#tools;
    const base = this.#base;
    this.#bases++;
    attributes.begin(base);
    attributes.putAll(this.#resource);
    scanner.at = scope.from;
    this.#readScope(scope.to);
    this.#baseBytes = base.attributes * attributeCost;
    for (let i = 0; i < base.attributes; i++) this.#baseBytes += base.to[i]! - base.from[i]!;
    sink.repeat(base.attributes * attributeCost);
  }

  #readScope(end: number): void {
    const { scanner, attributes } = this.#tools;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === ScopeTag.attributes) attributes.read(scanner.readEnd(end));
      else if (tag === ScopeTag.name) this.#readText(this.#scopeName, end);
      else if (tag === ScopeTag.version) this.#readText(this.#scopeVersion, end);
      else scanner.skip(tag, end);
    }
  }

  #readText(key: number, end: number): void {
    const { scanner, attributes } = this.#tools;
    const to = scanner.readEnd(end);
    attributes.value.setText(scanner.at, to);
    scanner.at = to;
    if (attributes.value.to > attributes.value.from) {
      attributes.put(key, attributes.value.from, attributes.value.to);
    }
  }

  #readRecords(from: number, to: number): void {
    const { tape, scanner, attributes, sink } = this.#tools;
    const row = this.#row;
    const { at: free } = tape;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag !== Tag.records) {
        scanner.skip(tag, to);
        continue;
      }
      const end = scanner.readEnd(to);
      tape.at = free;
      attributes.begin(row);
      try {
        this.#record.read(row, end);
        sink.repeat(this.#baseBytes);
        attributes.putMissing(this.#base, this.#bases);
        sink.add(row, tape.bytes);
      } catch (problem) {
        if (!(problem instanceof RowProblem)) throw problem;
        sink.refuse(problem);
      }
      scanner.at = end;
    }
  }

  /** Where the last field with this tag lies; an empty range where there is none. */
  #find(from: number, to: number, wanted: number): Range {
    const found = { from, to: from };
    this.#tools.scanner.eachField(from, to, wanted, (fieldFrom, fieldTo) => {
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
