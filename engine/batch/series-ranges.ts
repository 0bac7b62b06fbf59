import type { LabelRanges } from "../metrics/series-identity.ts";
import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/text.ts";

/** Where the parts of one series lie in the bytes that a SampleDraft reads; filled anew for each. */
export class SeriesRanges implements LabelRanges {
  nameFrom = 0;
  nameTo = 0;
  type: MetricType = "unknown";
  unitFrom = 0;
  unitTo = 0;
  /** Labels of the series; the arrays are longer. */
  count = 0;
  keyFrom = new Uint32Array(64);
  keyTo = new Uint32Array(64);
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

  /** Of two labels with one key the later one counts; one with an empty value is as good as none. */
  addLabel(keyFrom: number, keyTo: number, from: number, to: number): void {
    const place = this.count++;
    if (place === this.keyFrom.length) this.#grow(place * 2);
    this.keyFrom[place] = keyFrom;
    this.keyTo[place] = keyTo;
    this.from[place] = from;
    this.to[place] = to;
  }

  #grow(length: number): void {
    this.keyFrom = growArray(this.keyFrom, length);
    this.keyTo = growArray(this.keyTo, length);
    this.from = growArray(this.from, length);
    this.to = growArray(this.to, length);
  }
}
