/**
 * Reads remote write 1.0 from the bytes of protobuf. The labels of a series are its alias: where this thread has met it,
 * only its samples are read. Other series are decoded by protobufjs.
 */

import { metricNameBytesMax, type SeriesAliases, unitBytesMax } from "../../../engine/index.ts";
import { BodyBuffer } from "../body-buffer.ts";
import { bodyFamiliesMax } from "../limits.ts";
import { decodeOrRefuse, ProtoScanner } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import type { Family, FamilyType } from "./families.ts";
import { type Metadata1, metadata1, type Series1, series1 } from "./schema.ts";
import { addSeries, nameLabel, seriesOf } from "./series-samples.ts";
import { WireSamples } from "./wire-samples.ts";

const Tag = { series: 0x0a, metadata: 0x1a } as const;
const SeriesTag = { label: 0x0a, sample: 0x12, exemplar: 0x1a } as const;
const LabelTag = { name: 0x0a, value: 0x12 } as const;
const nameBytes = Buffer.from(nameLabel, "latin1");

type FamilyOf = (name: string) => FamilyType | undefined;

/** What the series of a metric are declared as, and the kind of their aliases. */
interface Declared {
  kind: number;
  type: number;
  unit: string;
}

export class WriteBody1 {
  readonly #sink: SampleSink;
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;
  readonly #samples: WireSamples;
  readonly #aliases: SeriesAliases;
  readonly #declared = new Map<string, Declared>();
  /** Where the name of the metric lies that was looked up last, and what was found. */
  readonly #lastName = { from: 0, to: -1 };
  #last: Declared | undefined;
  /** Where labels of the series lie, one after the other, and in them the name of the metric. */
  readonly #labels = { from: 0, to: 0 };
  readonly #name = { from: 0, to: 0 };

  constructor(body: Buffer, sink: SampleSink) {
    this.#sink = sink;
    this.#buffer = new BodyBuffer(body);
    this.#scanner = new ProtoScanner(this.#buffer);
    this.#samples = new WireSamples(this.#scanner, sink);
    this.#aliases = sink.builder.readAliases("remote write 1", body);
  }

  /**
   * The metric families that the body describes, by name: so many as a body may, without those whose name or unit is
   * longer than the store takes. Throws Refusal 400 where it is not valid protobuf.
   */
  readFamilies(): Map<string, Family> {
    const families = new Map<string, Family>();
    const { bytes, bodyEnd } = this.#buffer;
    this.#scanner.forEachField(0, bodyEnd, Tag.metadata, (from, to) => {
      if (families.size >= bodyFamiliesMax) return;
      const decoded = decodeOrRefuse(() => metadata1.decode(bytes.subarray(from, to)));
      const { metricFamilyName: name, type, unit } = decoded as unknown as Metadata1;
      const fits = Buffer.byteLength(name) <= metricNameBytesMax && Buffer.byteLength(unit) <= unitBytesMax;
      if (fits) families.set(name, { name, type, unit });
    });
    return families;
  }

  /** Adds all samples; `familyOf` finds the family of a metric. Throws Refusal 400 where the body is not valid protobuf. */
  readSamples(familyOf: FamilyOf): void {
    this.#scanner.forEachField(0, this.#buffer.bodyEnd, Tag.series, (from, to) => {
      const isUsual = this.#scan(from, to) && this.#samples.areUsual();
      if (!isUsual) {
        this.#addDecoded(from, to, familyOf);
        return;
      }
      this.#aliases.begin(this.#declarationOfName(familyOf).kind);
      this.#aliases.add(this.#labels.from, this.#labels.to);
      const alias = this.#aliases.find();
      if (alias >= 0) this.#samples.addTo(alias, 0);
      else {
        this.#sink.builder.forgetSeries();
        this.#addDecoded(from, to, familyOf);
        this.#sink.builder.noteAlias();
      }
    });
  }

  /** Finds labels and samples of the series at [from, to). Returns false where protobufjs has to read it. */
  #scan(from: number, to: number): boolean {
    const scanner = this.#scanner;
    const labels = this.#labels;
    labels.to = -1;
    this.#name.to = -1;
    this.#samples.clear();
    scanner.at = from;
    while (scanner.at < to) {
      const { at } = scanner;
      const tag = scanner.readVarint(to);
      if (tag !== SeriesTag.label && tag !== SeriesTag.sample && tag !== SeriesTag.exemplar) return false;
      const end = scanner.readFieldEnd(to);
      if (tag === SeriesTag.label) {
        if (labels.to < 0) labels.from = at;
        else if (labels.to !== at) return false;
        labels.to = end;
        if (!this.#scanLabel(end)) return false;
      } else if (tag === SeriesTag.sample) this.#samples.push(scanner.at, end);
      scanner.at = end;
    }
    return this.#name.to >= 0;
  }

  /** Reads the label at [scanner.at, end). Returns false unless it is a name and a value. */
  #scanLabel(end: number): boolean {
    const scanner = this.#scanner;
    if (scanner.readVarint(end) !== LabelTag.name) return false;
    const { bytes } = this.#buffer;
    const nameTo = scanner.readFieldEnd(end);
    const { at: nameFrom } = scanner;
    scanner.at = nameTo;
    if (nameTo === end || scanner.readVarint(end) !== LabelTag.value) return false;
    const valueTo = scanner.readFieldEnd(end);
    const isName = nameTo - nameFrom === nameBytes.length && nameBytes.compare(bytes, nameFrom, nameTo) === 0;
    if (isName) {
      this.#name.from = scanner.at;
      this.#name.to = valueTo;
    }
    return valueTo === end;
  }

  /** What the metric that `#name` is the name of is declared as. Series of one metric often stand after each other. */
  #declarationOfName(familyOf: FamilyOf): Declared {
    const { bytes } = this.#buffer;
    const { from, to } = this.#name;
    const last = this.#lastName;
    const isLast = this.#last !== undefined && bytes.compare(bytes, last.from, last.to, from, to) === 0;
    if (!isLast) {
      last.from = from;
      last.to = to;
      this.#last = this.#declarationOf(bytes.toString("utf8", from, to), familyOf);
    }
    return this.#last!;
  }

  #declarationOf(name: string, familyOf: FamilyOf): Declared {
    const known = this.#declared.get(name);
    if (known !== undefined) return known;
    const { type = 0, unit = "" } = familyOf(name) ?? {};
    const declared = { kind: this.#aliases.kindOf(`${type} ${unit}`), type, unit };
    this.#declared.set(name, declared);
    return declared;
  }

  /** Adds the samples of the series at [from, to), decoded by protobufjs. */
  #addDecoded(from: number, to: number, familyOf: FamilyOf): void {
    const decoded = decodeOrRefuse(() => series1.decode(this.#buffer.bytes.subarray(from, to)));
    const { labels: pairs, samples, histograms } = decoded as unknown as Series1;
    const labels: Record<string, string> = Object.create(null);
    for (const { name, value } of pairs) labels[name] = value;
    const { type, unit } = this.#declarationOf(labels[nameLabel] ?? "", familyOf);
    addSeries(this.#sink, seriesOf(labels, type, unit), samples, histograms);
  }
}
