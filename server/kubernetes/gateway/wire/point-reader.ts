/**
 * Reads what rules test of the points of metrics. The hub makes several samples of a point of a histogram or summary:
 * such a point is left out only where rules leave out all of them. Labels that only a sample has (`le`, `quantile`)
 * never match here; the hub evaluates them.
 */

import type { RecordReader, WireReaders } from "./record-reader.ts";

const metricTag = 0x12;
const nameTag = 0x0a;
const pointTag = 0x0a;

interface DataKind {
  attributesTag: number;
  /** What the names of the samples end with. */
  suffixes: readonly string[];
}

const histogramSuffixes = ["_bucket", "_sum", "_count"];

/** Kinds of data by their tag in a metric. */
const dataKinds: Readonly<Record<number, DataKind>> = {
  // Gauge and sum.
  42: { attributesTag: 0x3a, suffixes: [""] },
  58: { attributesTag: 0x3a, suffixes: [""] },
  // Histogram, exponential histogram, summary.
  74: { attributesTag: 0x4a, suffixes: histogramSuffixes },
  82: { attributesTag: 0x0a, suffixes: histogramSuffixes },
  90: { attributesTag: 0x3a, suffixes: ["", "_sum", "_count"] },
};

export class PointReader implements RecordReader {
  readonly levels = 4;
  readonly #readers: WireReaders;
  readonly #name: number;
  #metricName = "";
  #attributesTag = 0;
  #suffixes: readonly string[] = [""];

  constructor(readers: WireReaders) {
    this.#readers = readers;
    this.#name = readers.fields.find("name");
  }

  isChild(level: number, tag: number): boolean {
    if (level === 2) return dataKinds[tag] !== undefined;
    return tag === (level === 3 ? pointTag : metricTag);
  }

  enter(tag: number, level: number, end: number): void {
    const { scanner, buffer } = this.#readers;
    if (level === 2 && this.#name >= 0) {
      this.#metricName = "";
      scanner.forEachField(scanner.at, end, nameTag, (from, to) => {
        this.#metricName = buffer.bytes.toString("utf8", from, to);
      });
    } else if (level === 3) {
      this.#attributesTag = dataKinds[tag]!.attributesTag;
      this.#suffixes = this.#name < 0 ? [""] : dataKinds[tag]!.suffixes;
    }
  }

  findExclusion(end: number): number {
    const { scanner, attributes, texts, buffer } = this.#readers;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === this.#attributesTag) {
        const to = scanner.readFieldEnd(end);
        attributes.read(to, texts);
        scanner.at = to;
      } else scanner.skip(tag, end);
    }
    let found = -1;
    for (const suffix of this.#suffixes) {
      if (this.#name >= 0) {
        const { at } = buffer;
        buffer.write(`${this.#metricName}${suffix}`);
        texts.setText(this.#name, at, buffer.at);
      }
      const exclusion = texts.findExclusion(buffer);
      if (exclusion < 0) return -1;
      if (found < 0) found = exclusion;
    }
    return found;
  }
}
