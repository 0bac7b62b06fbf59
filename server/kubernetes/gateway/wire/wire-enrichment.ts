/** Adds attributes to the resources of OTLP bodies in protobuf. Only the bytes of resources change. */

import { BodyBuffer } from "../../../ingest/body-buffer.ts";
import { PairTag } from "../../../ingest/otlp/wire-value.ts";
import { ProtoScanner } from "../../../ingest/protobuf-scanner.ts";
import { serviceKey } from "../../../ingest/service-name.ts";
import { findEnrichment, type PodLookup } from "../resource-enrichment.ts";
import { type FieldPlace, makeVarint, WireEdits } from "./wire-edits.ts";

const bytesTag = 0x0a;
const stringTag = 0x0a;

/** An attribute of a resource: its field in the body, and its text where it is one. */
interface SentAttribute {
  from: number;
  to: number;
  key: string;
  text: string;
}

/** Returns the same object where nothing is added. Throws Refusal 400 where the body is not valid protobuf. */
export function enrichProtobuf(body: Uint8Array, peer: string | undefined, pods: PodLookup): Uint8Array {
  const edits = new WireEdits();
  const reader = new ResourceReader(body);
  for (const resource of reader.readFields(0, body.length)) {
    edits.begin();
    enrichResource(reader, resource, edits, (attribute) => findEnrichment(attribute, peer, pods));
    edits.end(resource);
  }
  return edits.isEmpty ? body : edits.apply(body);
}

type Enrich = (attribute: (key: string) => string | undefined) => ReturnType<typeof findEnrichment>;

/** Of several resource messages the last one counts. */
function enrichResource(reader: ResourceReader, group: FieldPlace, edits: WireEdits, enrich: Enrich): void {
  const resource = reader.readFields(group.contentFrom, group.to).at(-1);
  const attributes = resource === undefined ? [] : reader.readAttributes(resource);
  const texts = new Map(attributes.map(({ key, text }) => [key, text]));
  const { added, serviceName } = enrich((key) => texts.get(key));
  const pairs = added.map(([key, text]) => makeAttribute(key, text));
  if (serviceName !== undefined) pairs.push(makeAttribute(serviceKey, serviceName));
  if (pairs.length === 0) return;
  const bytes = Buffer.concat(pairs);
  if (resource === undefined) {
    edits.replace(group.contentFrom, group.contentFrom, makeField(bytes));
    return;
  }
  edits.begin();
  for (const { key, from, to } of attributes) {
    if (key === serviceKey && serviceName !== undefined) edits.cut(from, to);
  }
  edits.replace(resource.to, resource.to, bytes);
  edits.end(resource);
}

class ResourceReader {
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;

  constructor(body: Uint8Array) {
    this.#buffer = new BodyBuffer(body);
    this.#scanner = new ProtoScanner(this.#buffer);
  }

  /** The fields of bytes with the number 1 in the message [from, to): resources, their messages, their attributes. */
  readFields(from: number, to: number): FieldPlace[] {
    const scanner = this.#scanner;
    const places: FieldPlace[] = [];
    scanner.at = from;
    while (scanner.at < to) {
      const fieldFrom = scanner.at;
      const tag = scanner.readVarint(to);
      if (tag !== bytesTag) {
        scanner.skip(tag, to);
        continue;
      }
      const lengthFrom = scanner.at;
      const end = scanner.readFieldEnd(to);
      places.push({ from: fieldFrom, lengthFrom, contentFrom: scanner.at, to: end });
      scanner.at = end;
    }
    return places;
  }

  readAttributes({ contentFrom, to }: FieldPlace): SentAttribute[] {
    return this.readFields(contentFrom, to).flatMap((place) => {
      let key = "";
      let text: string | undefined;
      const scanner = this.#scanner;
      scanner.at = place.contentFrom;
      while (scanner.at < place.to) {
        const tag = scanner.readVarint(place.to);
        if (tag !== PairTag.key && tag !== PairTag.value) {
          scanner.skip(tag, place.to);
          continue;
        }
        const end = scanner.readFieldEnd(place.to);
        if (tag === PairTag.key) key = this.#buffer.bytes.toString("utf8", scanner.at, end);
        else text = this.#readText(scanner.at, end);
        scanner.at = end;
      }
      return text === undefined ? [] : [{ from: place.from, to: place.to, key, text }];
    });
  }

  /** The text of an AnyValue: "" for one of another type, undefined for an empty one. */
  #readText(from: number, to: number): string | undefined {
    if (from === to) return undefined;
    let text = "";
    this.#scanner.forEachField(from, to, stringTag, (textFrom, textTo) => {
      text = this.#buffer.bytes.toString("utf8", textFrom, textTo);
    });
    return text;
  }
}

function makeField(content: Uint8Array, tag: number = bytesTag): Uint8Array {
  return Buffer.concat([Uint8Array.of(tag), makeVarint(content.length), content]);
}

function makeAttribute(key: string, text: string): Uint8Array {
  const value = makeField(makeField(Buffer.from(text), stringTag), PairTag.value);
  return makeField(Buffer.concat([makeField(Buffer.from(key), PairTag.key), value]));
}
