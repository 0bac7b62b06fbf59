/** A series as byte ranges. */
import type { LabelRanges } from "../metrics/series-identity.ts";
import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/arrays.ts";

/**
 * Byte ranges of one series' texts, half-open, in the bytes that a batch reads. One object is filled anew for each
 * series.
 */
export class SeriesRanges implements LabelRanges {
  nameFrom = 0;
  nameTo = 0;
  type: MetricType = "unknown";
  unitFrom = 0;
  unitTo = 0;
  /** Number of labels; the arrays below are longer. */
  count = 0;
  keyFrom = new Uint32Array(64);
  keyTo = new Uint32Array(64);
  /** Ranges of the values. */
  from = new Uint32Array(64);
  to = new Uint32Array(64);

  /** Makes this a series without name, unit and labels. */
  clear(): void {
    this.nameFrom = 0;
    this.nameTo = 0;
    this.type = "unknown";
    this.unitFrom = 0;
    this.unitTo = 0;
    this.count = 0;
  }

  /** Of two labels with one key the later one counts. A label with an empty value counts as absent. */
  addLabel(keyFrom: number, keyTo: number, from: number, to: number): void {
    const index = this.count++;
    if (index === this.keyFrom.length) this.#grow(index * 2);
    this.keyFrom[index] = keyFrom;
    this.keyTo[index] = keyTo;
    this.from[index] = from;
    this.to[index] = to;
  }

  #grow(length: number): void {
    this.keyFrom = growArray(this.keyFrom, length);
    this.keyTo = growArray(this.keyTo, length);
    this.from = growArray(this.from, length);
    this.to = growArray(this.to, length);
  }
}
