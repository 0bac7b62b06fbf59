/** Applies the terms of entry to series: what they are stamped with, and what leaves them out. */

import { IdentityWriter } from "../metrics/series-identity.ts";
import { type ByteSource, TextTable } from "../vector/text-table.ts";
import type { EntryTerms } from "./admission-policy.ts";
import { ExclusionFilter } from "./exclusion.ts";
import type { SeriesRanges } from "./series-ranges.ts";

interface Stamp {
  key: Buffer;
  text: Buffer;
  /** The key under which stands what the series brought. */
  sentKey: Buffer;
}

/** The bytes that tell a series from others. */
interface Identity {
  identity: ByteSource;
  length: number;
}

export class SeriesAdmission {
  readonly #stamps: readonly Stamp[];
  readonly #excluder: ExclusionFilter | undefined;
  /** Fields of the excluder that are labels. */
  readonly #labels: { key: Buffer; place: number }[] = [];
  #namePlace = -1;
  /** Series that were left out, and by which exclusion. */
  readonly #excluded = new TextTable();
  readonly #exclusionOf: number[] = [];
  readonly #series: SeriesRanges;
  readonly #bytes = new IdentityWriter();

  /** `scratch` holds the series that `stamped` gives. */
  constructor({ stamps = {}, exclusions = [] }: EntryTerms, scratch: SeriesRanges) {
    this.#series = scratch;
    this.#stamps = Object.entries(stamps).map(([key, text]) => ({
      key: Buffer.from(key, "utf8"),
      text: Buffer.from(text, "utf8"),
      sentKey: Buffer.from(`attributes.${key}`, "utf8"),
    }));
    if (exclusions.length === 0) return;
    this.#excluder = new ExclusionFilter(exclusions);
    for (const [place, field] of this.#excluder.fields.entries()) {
      if (field.kind === "name") this.#namePlace = place;
      if (field.kind === "attribute") this.#labels.push({ key: Buffer.from(field.key, "utf8"), place });
    }
  }

  get stampCount(): number {
    return this.#stamps.length;
  }

  /** The series with its stamps, valid until the next call; another text that it brought under their keys gets another name. */
  addStamps(given: SeriesRanges, source: ByteSource): { series: SeriesRanges; source: ByteSource } {
    if (this.#stamps.length === 0) return { series: given, source };
    const series = this.#series;
    series.clear();
    this.#bytes.clear();
    series.type = given.type;
    series.nameFrom = this.#bytes.length;
    series.nameTo = this.#copy(source.bytes, given.nameFrom, given.nameTo);
    series.unitFrom = this.#bytes.length;
    series.unitTo = this.#copy(source.bytes, given.unitFrom, given.unitTo);
    for (let label = 0; label < given.count; label++) this.#copyLabel(given, source.bytes, label);
    for (const { key, text } of this.#stamps) this.#addLabel(key, text, 0, text.length);
    return { series, source: this.#bytes.source };
  }

  /** The place of the first exclusion that holds for the series, or -1. `order` lists the labels that count. */
  findExclusion(
    series: SeriesRanges,
    source: ByteSource,
    order: readonly number[],
    { identity, length }: Identity,
  ): number {
    const excluder = this.#excluder;
    if (excluder === undefined) return -1;
    const known = this.#excluded.find(identity, 0, length);
    if (known >= 0) return this.#exclusionOf[known]!;
    excluder.beginRow();
    if (this.#namePlace >= 0) excluder.setText(this.#namePlace, series.nameFrom, series.nameTo);
    for (const { key, place } of this.#labels) {
      const label = order.find((each) => hasLabelKey(series, each, source.bytes, key));
      if (label !== undefined) excluder.setText(place, series.from[label]!, series.to[label]!);
    }
    const found = excluder.findExclusion(source);
    if (found >= 0) this.#exclusionOf[this.#excluded.codeOf(identity, 0, length)] = found;
    return found;
  }

  #copyLabel(given: SeriesRanges, bytes: Buffer, label: number): void {
    const from = given.from[label]!;
    const to = given.to[label]!;
    const stamp = this.#stamps.find(({ key }) => hasLabelKey(given, label, bytes, key));
    if (stamp === undefined) {
      this.#addLabel(bytes.subarray(given.keyFrom[label]!, given.keyTo[label]!), bytes, from, to);
      return;
    }
    if (from === to || stamp.text.compare(bytes, from, to) === 0) return;
    for (let other = 0; other < given.count; other++)
      if (hasLabelKey(given, other, bytes, stamp.sentKey)) return;
    this.#addLabel(stamp.sentKey, bytes, from, to);
  }

  #addLabel(key: Uint8Array, bytes: Uint8Array, from: number, to: number): void {
    const keyFrom = this.#bytes.length;
    const keyTo = this.#copy(key, 0, key.length);
    const valueFrom = this.#bytes.length;
    this.#series.addLabel(keyFrom, keyTo, valueFrom, this.#copy(bytes, from, to));
  }

  /** Returns the end of the copy; a separator follows it. */
  #copy(bytes: Uint8Array, from: number, to: number): number {
    this.#bytes.push(bytes, from, to);
    return this.#bytes.length - 1;
  }
}

function hasLabelKey(series: SeriesRanges, label: number, bytes: Buffer, key: Buffer): boolean {
  const from = series.keyFrom[label]!;
  const to = series.keyTo[label]!;
  return to - from === key.length && key.compare(bytes, from, to) === 0;
}
