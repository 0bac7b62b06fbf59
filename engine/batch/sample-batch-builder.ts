/** Builds a batch of samples. A series is added once, as byte ranges; its samples then name it by number. */

import type { PieceKey } from "../files/piece-keys.ts";
import {
  attributeKeyBytesMax,
  increaseAgeNsMax,
  labelsPerSeriesMax,
  metricNameBytesMax,
  seriesBytesMax,
  unitBytesMax,
} from "../limits.ts";
import type { ActiveSeries } from "../metrics/active-series.ts";
import { encodeSampleChunks } from "../metrics/sample-chunk-encoder.ts";
import { SampleColumns } from "../metrics/sample-columns.ts";
import { IdentityWriter, orderLabels } from "../metrics/series-identity.ts";
import { toMember } from "../metrics/shared-set.ts";
import { daySeconds, type Instant, toInstant } from "../model/day.ts";
import type { RefusedRow } from "../model/row.ts";
import { type Sample, startLeadNs } from "../model/sample.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { type ByteSource, toByteSource } from "../vector/text-table.ts";
import { AdmissionCounts, type AdmissionPolicy, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import { BatchSeries } from "./batch-series.ts";
import { SampleRows } from "./sample-rows.ts";
import { ScratchBytes } from "./scratch-bytes.ts";
import { SeriesAdmission } from "./series-admission.ts";
import { SeriesAliases } from "./series-aliases.ts";
import { type SeriesDeclaration, SeriesMemory } from "./series-memory.ts";
import { SeriesRanges } from "./series-ranges.ts";

/** The admission policy, and what is known about active series. */
export interface SampleBatchOptions extends AdmissionPolicy {
  /** The store's active series. Without it the cap on active series is not applied. */
  census?: ActiveSeries | undefined;
}

/** A series by its number in the memory, and in the batch. */
interface NumberedSeries {
  series: number;
  number: number;
}

/**
 * Collects samples and encodes them as one batch. Fit for a worker thread; the census in shared memory is its only side
 * effect. Bytes that it reads must be valid UTF-8. Byte ranges are half-open and refer to the bytes of the last `read`.
 */
export class SampleBatchBuilder {
  /** Samples that were refused, dropped or skewed so far. */
  readonly counts: AdmissionCounts;
  readonly #memory: SeriesMemory;
  readonly #series: BatchSeries;
  /** What the policy adds to a series, which decides with an alias which series it names. */
  readonly #stampsJson: string;
  /**
   * Why samples of some series are not stored: a text where they are refused, the index of an exclusion where they are
   * dropped. Such a series has the number -2 - i, where i is the index of its reason here.
   */
  readonly #reasons: (string | number)[] = [];
  readonly #reasonNumbers = new Map<string | number, number>();
  /** The declaration of the sample that was added last; its series is that of the memory, or -1. */
  #last: SeriesDeclaration = { series: -1, type: "unknown", unit: -1 };
  readonly #days = new Map<number, SampleColumns>();
  readonly #census: ActiveSeries | undefined;
  readonly #timeAdmission: TimeAdmission;
  readonly #seriesAdmission: SeriesAdmission;
  readonly #identity = new IdentityWriter();
  readonly #scratch = new ScratchBytes((byteLength) => toByteSource(new Uint8Array(byteLength)));
  readonly #scratchSeries = new SeriesRanges();
  #source: ByteSource = toByteSource(new Uint8Array(0));
  /** The day of the newest sample: the next sample is most likely of the same day. */
  #newest: { day: number; samples: SampleColumns } | undefined;
  #rows = 0;
  /** Hashes of the starts of counters that samples name. */
  readonly #starts = new Set<bigint>();

  /** `memory`: where series are kept; that of the thread by default. */
  constructor({ census, ...policy }: SampleBatchOptions, memory = SeriesMemory.take()) {
    this.#memory = memory;
    this.#series = new BatchSeries(memory);
    this.#stampsJson = JSON.stringify(policy.stamps ?? {});
    this.#census = census;
    this.counts = new AdmissionCounts(policy);
    this.#timeAdmission = new TimeAdmission(policy, this.counts);
    this.#seriesAdmission = new SeriesAdmission(policy, new SeriesRanges());
  }

  /** Samples taken so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Sets the bytes that ranges refer to from now on. */
  read(bytes: Uint8Array): void {
    this.#source = toByteSource(bytes);
  }

  /** Reads JSON lines, which are valid UTF-8, from `start` on, and stops at those that the caller has to read or add. */
  readJson(body: Uint8Array, start: number): SampleRows {
    return new SampleRows(
      this,
      this.#memory,
      body,
      start,
      this.#memory.kindOf(`json lines ${this.#stampsJson}`),
    );
  }

  /** The names of series in a body of a wire format. `noteAlias` notes what the present name stands for. */
  readAliases(format: string, body: Uint8Array): SeriesAliases {
    return new SeriesAliases(this.#memory, body, `${format} ${this.#stampsJson}`);
  }

  /** Takes the rows that the kernels handed over. */
  takeRows(): void {
    const { kernels, memory } = this.#memory;
    const rows = kernels.sampleRows();
    if (rows === 0) return;
    const series = memory.uint32(kernels.sampleSeries(), rows);
    const times = memory.float64(kernels.sampleTimes(), rows);
    this.#newest!.samples.appendRows(series, times, memory.float64(kernels.sampleValues(), rows));
    this.#rows += rows;
  }

  /** Forgets which series the sample had that was added last. */
  forgetSeries(): void {
    this.#last.series = -1;
  }

  /**
   * Notes that the kernels' present key, if there is one, is an alias of the series whose sample was added last, stored or
   * not.
   */
  noteAlias(): void {
    if (this.#last.series >= 0) this.#memory.noteAlias({ ...this.#last });
  }

  /** As `add`, for a sample of the series that an alias names. `start` is when its counter began, where that is known. */
  addByAlias(
    alias: number,
    seconds: number,
    nanos: number,
    value: number,
    start?: Instant,
  ): string | undefined {
    const declaration = this.#memory.declarationOf(alias);
    const { series, type } = declaration;
    const number = this.#admit(series);
    if (number >= 0) this.#series.declareBy(alias, number, declaration);
    const refusal = this.add(number, seconds, nanos, value);
    const isCounted = type === "counter" && number >= 0 && refusal === undefined && !Number.isNaN(value);
    if (start !== undefined && isCounted) this.#addStart({ series, number }, start, { seconds, nanos });
    return refusal;
  }

  /**
   * Adds a series, or finds it; returns its number. A series that is not stored has a number below -1, for which `add`
   * gives the reason.
   */
  addSeries(series: SeriesRanges): number {
    return this.#addSeries(series, this.#source);
  }

  /**
   * Adds a sample at whole seconds since the epoch and nanoseconds of the second. Returns undefined where it was taken
   * or dropped by an exclusion, else why it cannot be stored.
   */
  add(series: number, seconds: number, nanos: number, value: number): string | undefined {
    const reason = series < 0 ? this.#reasons[-2 - series]! : undefined;
    if (typeof reason === "string") return reason;
    const refusal = this.#timeAdmission.findRefusal(seconds, nanos);
    if (refusal !== undefined) return refusal;
    if (reason !== undefined) {
      this.counts.excluded[reason]!++;
      return undefined;
    }
    this.#timeAdmission.noteTaken(seconds, nanos);
    const day = Math.floor(seconds / daySeconds);
    this.#samplesOfDay(day).push(series, (seconds - day * daySeconds) * 1e9 + nanos, value);
    this.#rows++;
    return undefined;
  }

  /** As `add`, for a sample as an object. */
  addSample({ timeNs, name, type, unit, labels, value, startNs }: Sample): string | undefined {
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
      // One label above the cap is enough to refuse the series.
      if (series.count > labelsPerSeriesMax) break;
      const keyTo = scratch.write(key, at);
      const to = scratch.write(labels[key]!, keyTo);
      series.addLabel(at, keyTo, keyTo, to);
      at = to;
    }
    const number = this.#addSeries(series, scratch.source);
    if (timeNs < 0n) return this.add(number, -1, 0, value);
    const time = toInstant(timeNs);
    const refusal = this.add(number, time.seconds, time.nanos, value);
    const isCounted = type === "counter" && number >= 0 && refusal === undefined && !Number.isNaN(value);
    if (startNs !== undefined && startNs > 0n && isCounted)
      this.#addStart({ series: this.#last.series, number }, toInstant(startNs), time);
    return refusal;
  }

  /**
   * Encodes the samples, one part a day (more where they exceed a chunk's size cap). Only `release` may be called
   * afterwards. `keys`: see `FinishOptions`.
   */
  finish({ keys }: { keys?: readonly PieceKey[] | undefined } = {}): EncodedBatch {
    const arrivalMax = Math.max(0, this.#rows - 1);
    const parts = [...this.#days].flatMap(([day, samples]) =>
      encodeSampleChunks({ table: this.#series, samples, arrivalMin: 0, arrivalMax }, { sealed: false }).map(
        (chunk) => ({ day, chunk }),
      ),
    );
    const starts = this.#starts.size === 0 ? {} : { starts: BigInt64Array.from(this.#starts) };
    const bytes = writeBatch(parts, keys);
    return { signal: "metrics", bytes, rows: this.#rows, ...(keys === undefined ? {} : { keys }), ...starts };
  }

  /** Gives the memory of the series to the next batch; the builder must not be used any more. */
  release(): void {
    this.#series.release();
    this.#memory.giveBack();
  }

  /**
   * Adds the zero with which a counter began, unless it is stored already, or so old that the sample has no increase
   * since then. The zero counts as no row: nobody sent it.
   */
  #addStart({ series, number }: NumberedSeries, start: Instant, time: Instant): void {
    const ageNs = (time.seconds - start.seconds) * 1e9 + time.nanos - start.nanos;
    const hasBegun = start.seconds > 0 || start.nanos > 0;
    if (!hasBegun || ageNs < 0 || ageNs >= increaseAgeNsMax) return;
    const hash = this.#memory.hashWithNumber(series, start.nanos, start.seconds);
    if (this.#census?.starts.has(hash.high, hash.low) === true) return;
    const member = toMember(hash.high, hash.low);
    if (this.#starts.has(member)) return;
    this.#starts.add(member);
    // The first sample of a counter that began at some time before: it stands for the zero.
    if (ageNs === 0) return;
    const isBefore = start.nanos < startLeadNs;
    const seconds = isBefore ? start.seconds - 1 : start.seconds;
    const nanos = start.nanos - startLeadNs + (isBefore ? 1e9 : 0);
    const day = Math.floor(seconds / daySeconds);
    this.#samplesOfDay(day).push(number, (seconds - day * daySeconds) * 1e9 + nanos, 0);
  }

  #addSeries(sent: SeriesRanges, sentSource: ByteSource): number {
    const { series, source } = this.#seriesAdmission.addStamps(sent, sentSource);
    const order = orderLabels(source, series);
    const identity = this.#identity;
    identity.clear();
    identity.push(source.bytes, series.nameFrom, series.nameTo);
    for (const label of order) {
      identity.push(source.bytes, series.keyFrom[label]!, series.keyTo[label]!);
      identity.push(source.bytes, series.from[label]!, series.to[label]!);
    }
    this.#last.series = -1;
    const unitRefusal = this.#findUnitRefusal(series);
    if (unitRefusal !== undefined) return this.#toRefusalNumber(unitRefusal);
    let known = this.#memory.findSeries(identity.source.bytes, identity.length);
    if (known < 0) {
      const reason = this.#findFormRefusal(series, source, order);
      if (reason !== undefined) return this.#toRefusalNumber(reason);
      known = this.#memory.addSeries(identity.source.bytes, identity.length);
    }
    const { type, unitFrom, unitTo } = series;
    const unit = unitFrom < unitTo ? this.#memory.numberUnit(source.bytes, unitFrom, unitTo) : -1;
    this.#last = { series: known, type, unit };
    const number = this.#admit(known);
    if (number >= 0) this.#series.declare(number, type, unit);
    return number;
  }

  /** The number in the batch of a series of the memory, given now where it has none. */
  #admit(series: number): number {
    const known = this.#memory.numberOf(series);
    if (known >= 0) return known;
    const excluded = this.#seriesAdmission.findExclusion(series, () => this.#memory.identityOf(series));
    if (excluded >= 0) return this.#toRefusalNumber(excluded);
    const { high, low } = this.#memory.fingerprintOf(series);
    const refusal = this.#census?.admit(high, low);
    return refusal === undefined ? this.#series.add(series) : this.#toRefusalNumber(refusal);
  }

  /** The negative number for series that are not stored for this reason. */
  #toRefusalNumber(reason: string | number): number {
    const number = getOrMake(this.#reasonNumbers, reason, () => this.#reasons.push(reason) - 1);
    return -2 - number;
  }

  #findUnitRefusal({ unitFrom, unitTo }: SeriesRanges): string | undefined {
    return unitTo - unitFrom > unitBytesMax ? `the unit is longer than ${unitBytesMax} bytes` : undefined;
  }

  /** Why a series cannot be stored because of its name or labels; undefined where it can. */
  #findFormRefusal(
    series: SeriesRanges,
    { bytes }: ByteSource,
    order: readonly number[],
  ): string | undefined {
    const { length } = this.#identity;
    const nameBytes = series.nameTo - series.nameFrom;
    if (nameBytes === 0) return "the metric has no name";
    if (nameBytes > metricNameBytesMax) return `the metric's name is longer than ${metricNameBytesMax} bytes`;
    if (order.length > labelsPerSeriesMax + this.#seriesAdmission.stampCount)
      return `more than ${labelsPerSeriesMax} labels`;
    for (const label of order) {
      if (series.keyTo[label]! - series.keyFrom[label]! <= attributeKeyBytesMax) continue;
      const start = bytes.toString("utf8", series.keyFrom[label]!, series.keyFrom[label]! + 40);
      return `label "${start}…" has a key longer than ${attributeKeyBytesMax} bytes`;
    }
    if (length > seriesBytesMax) return `name and labels together are longer than ${seriesBytesMax} bytes`;
    return undefined;
  }

  /** The kernels may add rows of this day whose time is within all bounds: those of whole seconds that are. */
  #setWindow(day: number): void {
    const { min, max, skewMin, skewMax } = this.#timeAdmission.bounds;
    const after = [min, ...(skewMin === undefined ? [] : [skewMin])].map(
      ({ seconds, nanos }) => seconds + (nanos > 0 ? 1 : 0),
    );
    const before = [max, ...(skewMax === undefined ? [] : [skewMax])].map(({ seconds }) => seconds);
    const from = day * daySeconds;
    this.#memory.kernels.setWindow(Math.max(from, ...after), Math.min(from + daySeconds, ...before), from);
  }

  /** The samples of a day, added where there are none yet. */
  #samplesOfDay(day: number): SampleColumns {
    if (this.#newest?.day === day) return this.#newest.samples;
    const samples = getOrMake(this.#days, day, () => new SampleColumns());
    this.#newest = { day, samples };
    this.#setWindow(day);
    return samples;
  }
}

/** Encodes samples as one batch. Samples that cannot be stored are refused with a reason, the others are taken. */
export function encodeSampleBatch(
  samples: readonly Sample[],
  options: SampleBatchOptions,
): EncodedBatch & { refused: RefusedRow[] } {
  const batch = new SampleBatchBuilder(options);
  const refused: RefusedRow[] = [];
  for (const [index, sample] of samples.entries()) {
    const reason = batch.addSample(sample);
    if (reason !== undefined) refused.push({ index, reason });
  }
  const encoded = batch.finish();
  batch.release();
  return { ...encoded, refused };
}
