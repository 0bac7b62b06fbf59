/** Applies an admission policy to series: adds stamped labels, and finds exclusions. */

import { forEachText, IdentityWriter } from "../metrics/series-identity.ts";
import { type ByteSource, toByteSource } from "../vector/text-table.ts";
import type { AdmissionPolicy } from "./admission-policy.ts";
import { ExclusionFilter } from "./exclusion.ts";
import type { SeriesRanges } from "./series-ranges.ts";

/** A label that every series gets. */
interface Stamp {
  key: Buffer;
  text: Buffer;
  /** The key under which a different value of the series is kept. */
  sentKey: Buffer;
}

/** The policy, prepared for one batch. */
export class SeriesAdmission {
  readonly #stamps: readonly Stamp[];
  readonly #exclusions: ExclusionFilter | undefined;
  /** Labels that exclusions test; `field` is the index of the exclusion filter's field. */
  readonly #labels: { key: Buffer; field: number }[] = [];
  #nameField = -1;
  /** For each excluded series, the index of its exclusion. */
  readonly #excluded = new Map<number, number>();
  readonly #series: SeriesRanges;
  readonly #bytes = new IdentityWriter();

  /** `scratch` holds the series that `addStamps` returns. */
  constructor({ stamps = {}, exclusions = [] }: AdmissionPolicy, scratch: SeriesRanges) {
    this.#series = scratch;
    this.#stamps = Object.entries(stamps).map(([key, text]) => ({
      key: Buffer.from(key, "utf8"),
      text: Buffer.from(text, "utf8"),
      sentKey: Buffer.from(`attributes.${key}`, "utf8"),
    }));
    if (exclusions.length === 0) return;
    this.#exclusions = new ExclusionFilter(exclusions);
    for (const [index, field] of this.#exclusions.fields.entries()) {
      if (field.kind === "name") this.#nameField = index;
      if (field.kind === "attribute")
        this.#labels.push({ key: Buffer.from(field.key, "utf8"), field: index });
    }
  }

  get stampCount(): number {
    return this.#stamps.length;
  }

  /**
   * The series with the stamped labels, valid until the next call. A different value that it brought under a stamped
   * key is renamed to `attributes.<key>`, or removed where it has a label of that name already.
   */
  addStamps(sent: SeriesRanges, source: ByteSource): { series: SeriesRanges; source: ByteSource } {
    if (this.#stamps.length === 0) return { series: sent, source };
    const series = this.#series;
    series.clear();
    this.#bytes.clear();
    series.type = sent.type;
    series.nameFrom = this.#bytes.length;
    series.nameTo = this.#copy(source.bytes, sent.nameFrom, sent.nameTo);
    series.unitFrom = this.#bytes.length;
    series.unitTo = this.#copy(source.bytes, sent.unitFrom, sent.unitTo);
    for (let label = 0; label < sent.count; label++) this.#copyLabel(sent, source.bytes, label);
    for (const { key, text } of this.#stamps) this.#addLabel(key, text, 0, text.length);
    return { series, source: this.#bytes.source };
  }

  /**
   * Index of the first exclusion that matches the series with this number, or -1. `identityOf` gives the bytes that
   * identify it; see metrics/series-identity.ts.
   */
  findExclusion(series: number, identityOf: () => Uint8Array): number {
    const exclusions = this.#exclusions;
    if (exclusions === undefined) return -1;
    const known = this.#excluded.get(series);
    if (known !== undefined) return known;
    const source = toByteSource(identityOf());
    const { bytes } = source;
    let field = -1;
    exclusions.beginRow();
    forEachText(bytes, 0, bytes.length, (index, from, to) => {
      if (index === 0) field = this.#nameField;
      else if (index % 2 === 1) {
        field = this.#labels.find(({ key }) => isText(bytes, from, to, key))?.field ?? -1;
        return;
      }
      if (field >= 0) exclusions.setText(field, from, to);
    });
    const found = exclusions.findExclusion(source);
    if (found >= 0) this.#excluded.set(series, found);
    return found;
  }

  /** Copies one label; see `addStamps` for what becomes of labels under a stamped key. */
  #copyLabel(sent: SeriesRanges, bytes: Buffer, label: number): void {
    const from = sent.from[label]!;
    const to = sent.to[label]!;
    const stamp = this.#stamps.find(({ key }) => hasLabelKey(sent, label, bytes, key));
    if (stamp === undefined) {
      this.#addLabel(bytes.subarray(sent.keyFrom[label]!, sent.keyTo[label]!), bytes, from, to);
      return;
    }
    if (from === to || stamp.text.compare(bytes, from, to) === 0) return;
    for (let other = 0; other < sent.count; other++)
      if (hasLabelKey(sent, other, bytes, stamp.sentKey)) return;
    this.#addLabel(stamp.sentKey, bytes, from, to);
  }

  #addLabel(key: Uint8Array, bytes: Uint8Array, from: number, to: number): void {
    const keyFrom = this.#bytes.length;
    const keyTo = this.#copy(key, 0, key.length);
    const valueFrom = this.#bytes.length;
    this.#series.addLabel(keyFrom, keyTo, valueFrom, this.#copy(bytes, from, to));
  }

  /** Copies a text to the scratch bytes; returns its end. A separator byte follows it. */
  #copy(bytes: Uint8Array, from: number, to: number): number {
    this.#bytes.push(bytes, from, to);
    return this.#bytes.length - 1;
  }
}

function hasLabelKey(series: SeriesRanges, label: number, bytes: Buffer, key: Buffer): boolean {
  return isText(bytes, series.keyFrom[label]!, series.keyTo[label]!, key);
}

/** Whether bytes[from, to) are this text. */
function isText(bytes: Buffer, from: number, to: number, text: Buffer): boolean {
  return to - from === text.length && text.compare(bytes, from, to) === 0;
}
