/** A batch of samples on its way: series are given once as ranges of bytes, then samples by the number of their series. */

import {
  attributeKeyBytesMax,
  labelsPerSeriesMax,
  metricNameBytesMax,
  seriesBytesMax,
  unitBytesMax,
} from "../limits.ts";
import { encodeSampleChunks } from "../metrics/sample-chunk-encoder.ts";
import { SampleColumns } from "../metrics/sample-columns.ts";
import type { SeriesCensus } from "../metrics/series-census.ts";
import { IdentityWriter, orderLabels } from "../metrics/series-identity.ts";
import { SeriesTable } from "../metrics/series-table.ts";
import { dayOf, timeInDay } from "../model/day.ts";
import type { RefusedRow } from "../model/row.ts";
import type { Sample } from "../model/sample.ts";
import { type ByteSource, byteSource, TextTable } from "../vector/text-table.ts";
import { hashWord } from "../vector/xxhash.ts";
import { EntryTally, type EntryTerms, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import { ScratchBytes } from "./scratch-bytes.ts";
import { SeriesAdmission } from "./series-admission.ts";
import { SeriesRanges } from "./series-ranges.ts";

const daySeconds = 86_400;

export interface SampleDraftOptions extends EntryTerms {
  /** Series that the store has; without it none is refused for being one too many. */
  census?: SeriesCensus | undefined;
}

/**
 * Gathers samples and encodes them to one batch: pure computation but for the census, fit for a worker thread. What it is given as
 * bytes must be UTF-8.
 */
export class SampleDraft {
  readonly tally: EntryTally;
  readonly #table = new SeriesTable();
  /** Why series take no samples, or which exclusion leaves them out; such a series has the number -2 less the place of its reason. */
  readonly #reasons: (string | number)[] = [];
  /** Bytes that stood for a series before, and its number. */
  readonly #aliases = new TextTable();
  #seriesOfAlias = new Int32Array(64);
  readonly #days = new Map<number, SampleColumns>();
  readonly #census: SeriesCensus | undefined;
  readonly #clock: TimeAdmission;
  readonly #gate: SeriesAdmission;
  readonly #identity = new IdentityWriter();
  readonly #scratch = new ScratchBytes();
  readonly #scratchSeries = new SeriesRanges();
  #source: ByteSource = byteSource(new Uint8Array(0));
  #newest: { day: number; samples: SampleColumns } | undefined;
  #rows = 0;

  constructor({ census, ...terms }: SampleDraftOptions) {
    this.#census = census;
    this.tally = new EntryTally(terms);
    this.#clock = new TimeAdmission(terms, this.tally);
    this.#gate = new SeriesAdmission(terms, new SeriesRanges());
  }

  /** Samples taken up to now. */
  get rows(): number {
    return this.#rows;
  }

  /** The bytes that ranges refer to from now on. */
  read(bytes: Uint8Array): void {
    this.#source = byteSource(bytes);
  }

  /** The series that the same bytes as [from, to) stood for before, or -1: a reader need not parse them again. */
  findAlias(from: number, to: number): number {
    const alias = this.#aliases.find(this.#source, from, to);
    return alias < 0 ? -1 : this.#seriesOfAlias[alias]!;
  }

  addAlias(from: number, to: number, series: number): void {
    const alias = this.#aliases.codeOf(this.#source, from, to);
    if (alias === this.#seriesOfAlias.length) {
      const larger = new Int32Array(alias * 2);
      larger.set(this.#seriesOfAlias);
      this.#seriesOfAlias = larger;
    }
    this.#seriesOfAlias[alias] = series;
  }

  /** The number of a series. One that is not to be stored has a negative number: `add` says what becomes of its samples. */
  addSeries(series: SeriesRanges): number {
    return this.#addSeries(series, this.#source);
  }

  /** Takes a sample (whole seconds since the epoch, and nanoseconds of the second), or returns why it cannot be stored. */
  add(series: number, seconds: number, nanos: number, value: number): string | undefined {
    const reason = series < 0 ? this.#reasons[-2 - series]! : undefined;
    if (typeof reason === "string") return reason;
    const refusal = this.#clock.findRefusal(seconds, nanos);
    if (refusal !== undefined) return refusal;
    if (reason !== undefined) {
      this.tally.excluded[reason]!++;
      return undefined;
    }
    this.#clock.countSkew(seconds, nanos);
    const day = Math.floor(seconds / daySeconds);
    this.#dayOf(day).push(series, (seconds - day * daySeconds) * 1e9 + nanos, value);
    this.#rows++;
    return undefined;
  }

  addSample({ timeNs, name, type, unit, labels, value }: Sample): string | undefined {
    const scratch = this.#scratch;
    const series = this.#scratchSeries;
    series.clear();
    series.type = type;
    let at = scratch.write(name, 0);
    series.nameTo = at;
    series.unitFrom = at;
    at = scratch.write(unit, at);
    series.unitTo = at;
    for (const key in labels) {
      // The first one too many is enough to refuse the series.
      if (series.count > labelsPerSeriesMax) break;
      const keyTo = scratch.write(key, at);
      const to = scratch.write(labels[key]!, keyTo);
      series.addLabel(at, keyTo, keyTo, to);
      at = to;
    }
    const number = this.#addSeries(series, scratch.source);
    if (timeNs < 0n) return this.add(number, -1, 0, value);
    const day = dayOf(timeNs);
    const ns = timeInDay(timeNs, day);
    return this.add(number, day * daySeconds + Math.floor(ns / 1e9), ns % 1e9, value);
  }

  finish(): EncodedBatch {
    const arrivalMax = Math.max(0, this.#rows - 1);
    const parts = [...this.#days].flatMap(([day, samples]) =>
      encodeSampleChunks({ table: this.#table, samples, arrivalMin: 0, arrivalMax }, { sealed: false }).map(
        (chunk) => ({ day, chunk }),
      ),
    );
    return { signal: "metrics", bytes: writeBatch(parts), rows: this.#rows };
  }

  #addSeries(given: SeriesRanges, givenSource: ByteSource): number {
    const { series, source } = this.#gate.addStamps(given, givenSource);
    const order = orderLabels(source, series);
    const identity = this.#identity;
    identity.clear();
    identity.push(source.bytes, series.nameFrom, series.nameTo);
    for (const label of order) {
      identity.push(source.bytes, series.keyFrom[label]!, series.keyTo[label]!);
      identity.push(source.bytes, series.from[label]!, series.to[label]!);
    }
    const known = this.#table.identities.find(identity.source, 0, identity.length);
    const reason =
      this.#unitRefusal(series) ?? (known < 0 ? this.#newRefusal(series, source, order) : undefined);
    if (reason !== undefined) return this.#refusedNumber(reason);
    const number = known < 0 ? this.#table.addSeries(identity.source, 0, identity.length) : known;
    this.#table.declare(number, series.type, source, series.unitFrom, series.unitTo);
    return number;
  }

  #refusedNumber(reason: string | number): number {
    const known = this.#reasons.indexOf(reason);
    return -2 - (known < 0 ? this.#reasons.push(reason) - 1 : known);
  }

  #unitRefusal({ unitFrom, unitTo }: SeriesRanges): string | undefined {
    return unitTo - unitFrom > unitBytesMax ? `the unit is longer than ${unitBytesMax} bytes` : undefined;
  }

  /** Why samples of a new series are not stored, or undefined. */
  #newRefusal(
    series: SeriesRanges,
    source: ByteSource,
    order: readonly number[],
  ): string | number | undefined {
    const reason = this.#refusal(series, source, order);
    if (reason !== undefined) return reason;
    const { source: identity, length } = this.#identity;
    const excluded = this.#gate.findExclusion(series, source, order, { identity, length });
    if (excluded >= 0) return excluded;
    const { high, low } = hashWord(identity.bytes, 0, length);
    return this.#census?.admit(high, low);
  }

  /** Why a series of that form cannot be stored, or undefined. */
  #refusal(series: SeriesRanges, { bytes }: ByteSource, order: readonly number[]): string | undefined {
    const { length } = this.#identity;
    const nameBytes = series.nameTo - series.nameFrom;
    if (nameBytes === 0) return "the metric has no name";
    if (nameBytes > metricNameBytesMax) return `the metric's name is longer than ${metricNameBytesMax} bytes`;
    if (order.length > labelsPerSeriesMax + this.#gate.stampCount)
      return `more than ${labelsPerSeriesMax} labels`;
    for (const label of order) {
      if (series.keyTo[label]! - series.keyFrom[label]! <= attributeKeyBytesMax) continue;
      const start = bytes.toString("utf8", series.keyFrom[label]!, series.keyFrom[label]! + 40);
      return `label "${start}…" has a key longer than ${attributeKeyBytesMax} bytes`;
    }
    if (length > seriesBytesMax) return `name and labels together are longer than ${seriesBytesMax} bytes`;
    return undefined;
  }

  #dayOf(day: number): SampleColumns {
    if (this.#newest?.day === day) return this.#newest.samples;
    let samples = this.#days.get(day);
    if (samples === undefined) {
      samples = new SampleColumns();
      this.#days.set(day, samples);
    }
    this.#newest = { day, samples };
    return samples;
  }
}

/** Encodes samples to one batch. Those that cannot be stored are refused with the reason, the rest is taken. */
export function encodeSampleBatch(
  samples: readonly Sample[],
  options: SampleDraftOptions,
): EncodedBatch & { refused: RefusedRow[] } {
  const draft = new SampleDraft(options);
  const refused: RefusedRow[] = [];
  for (const [index, sample] of samples.entries()) {
    const reason = draft.addSample(sample);
    if (reason !== undefined) refused.push({ index, reason });
  }
  return { ...draft.finish(), refused };
}
