/** Builds a batch of samples. A series is added once, as byte ranges; its samples then name it by number. */

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
import { SeriesTable } from "../metrics/series-table.ts";
import { toMember } from "../metrics/shared-set.ts";
import { dayOf, daySeconds, timeInDay } from "../model/day.ts";
import type { RefusedRow } from "../model/row.ts";
import { type MetricType, type Sample, startLeadNs } from "../model/sample.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";
import { hash64Words } from "../vector/xxhash.ts";
import { AdmissionCounts, type AdmissionPolicy, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import { ScratchBytes } from "./scratch-bytes.ts";
import { SeriesAdmission } from "./series-admission.ts";
import { SeriesRanges } from "./series-ranges.ts";

/** The admission policy, and what is known about active series. */
export interface SampleBatchOptions extends AdmissionPolicy {
  /** The store's active series. Without it the cap on active series is not applied. */
  census?: ActiveSeries | undefined;
}

/** What a sample declares of its series. */
interface Declaration {
  series: number;
  type: MetricType;
  /** Number of the unit; -1 where the sample has none. */
  unit: number;
}

/**
 * Collects samples and encodes them as one batch. Fit for a worker thread; the census in shared memory is its only side
 * effect. Bytes that it reads must be valid UTF-8. Byte ranges are half-open and refer to the bytes of the last `read`.
 */
export class SampleBatchBuilder {
  /** Samples that were refused, dropped or skewed so far. */
  readonly counts: AdmissionCounts;
  readonly #table = new SeriesTable();
  /**
   * Why samples of some series are not stored: a text where they are refused, the index of an exclusion where they are
   * dropped. Such a series has the number -2 - i, where i is the index of its reason here.
   */
  readonly #reasons: (string | number)[] = [];
  /** Byte sequences that named a series before, in the reader's wire format. */
  readonly #aliases = new TextTable();
  /** For each alias its series, with the type and the unit that a sample of it declares. */
  readonly #declarations: Declaration[] = [];
  /** The declaration of the sample that was added last. */
  #last: Declaration = { series: -1, type: "unknown", unit: -1 };
  /** The bytes in which an alias was looked for last: a reader has one buffer for all of its aliases. */
  #aliasBytes: Buffer | undefined;
  #aliasSource: ByteSource = toByteSource(new Uint8Array(0));
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
  /** Hashes of the starts of counters that samples name, and the bytes of the start that is hashed. */
  readonly #starts = new Set<bigint>();
  readonly #startBytes = Buffer.alloc(8);

  constructor({ census, ...policy }: SampleBatchOptions) {
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

  /**
   * The number of the alias that the first `length` bytes are, so that a reader need not parse them again; -1 where they
   * are none.
   */
  findAlias(bytes: Buffer, length: number): number {
    return this.#aliases.find(this.#toAliasSource(bytes), 0, length);
  }

  /** Notes that the first `length` bytes name the series, type and unit of the sample that `addSample` added last. */
  addAlias(bytes: Buffer, length: number): void {
    const alias = this.#aliases.intern(this.#toAliasSource(bytes), 0, length);
    this.#declarations[alias] = { ...this.#last };
  }

  /** As `add`, for a sample of the series that an alias names. */
  addByAlias(alias: number, seconds: number, nanos: number, value: number): string | undefined {
    const { series, type, unit } = this.#declarations[alias]!;
    if (series >= 0) this.#table.declareAgain(series, type, unit);
    return this.add(series, seconds, nanos, value);
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
    this.#timeAdmission.countSkew(seconds, nanos);
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
    this.#last.series = number;
    this.#last.type = type;
    this.#last.unit = number < 0 || unit === "" ? -1 : this.#table.unitOf(number);
    if (timeNs < 0n) return this.add(number, -1, 0, value);
    const day = dayOf(timeNs);
    const ns = timeInDay(timeNs, day);
    const refusal = this.add(number, day * daySeconds + Math.floor(ns / 1e9), ns % 1e9, value);
    const isCounted = type === "counter" && number >= 0 && refusal === undefined && !Number.isNaN(value);
    if (startNs !== undefined && isCounted) this.#addStart(number, startNs, timeNs - startNs);
    return refusal;
  }

  /**
   * Encodes the samples, one part a day (more where they exceed a chunk's size cap). The builder must not be used
   * afterwards.
   */
  finish(): EncodedBatch {
    const arrivalMax = Math.max(0, this.#rows - 1);
    const parts = [...this.#days].flatMap(([day, samples]) =>
      encodeSampleChunks({ table: this.#table, samples, arrivalMin: 0, arrivalMax }, { sealed: false }).map(
        (chunk) => ({ day, chunk }),
      ),
    );
    const batch: EncodedBatch = { signal: "metrics", bytes: writeBatch(parts), rows: this.#rows };
    return this.#starts.size === 0 ? batch : { ...batch, starts: BigInt64Array.from(this.#starts) };
  }

  /**
   * Adds the zero with which a counter began, unless it is stored already, or so old that the sample has no increase
   * since then. Must follow the call of `#addSeries` for the series. The zero counts as no row: nobody sent it.
   */
  #addStart(series: number, startNs: bigint, ageNs: bigint): void {
    if (startNs <= 0n || ageNs < 0n || ageNs >= increaseAgeNsMax) return;
    const start = this.#hashStart(startNs);
    if (this.#starts.has(start) || this.#census?.starts.has(start) === true) return;
    this.#starts.add(start);
    // The first sample of a counter that began at some time before: it stands for the zero.
    if (ageNs === 0n) return;
    const zeroNs = startNs - BigInt(startLeadNs);
    const day = dayOf(zeroNs);
    this.#samplesOfDay(day).push(series, timeInDay(zeroNs, day), 0);
  }

  /** A hash of the series that was added last and a start of it. */
  #hashStart(startNs: bigint): bigint {
    const identity = this.#identity;
    this.#startBytes.writeBigInt64LE(startNs);
    identity.push(this.#startBytes, 0, 8);
    const { high, low } = hash64Words(identity.source.bytes, 0, identity.length);
    return toMember(high, low);
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
    const known = this.#table.identities.find(identity.source, 0, identity.length);
    const reason =
      this.#findUnitRefusal(series) ??
      (known < 0 ? this.#findNewSeriesRefusal(series, source, order) : undefined);
    if (reason !== undefined) return this.#toRefusalNumber(reason);
    const number = known < 0 ? this.#table.addSeries(identity.source, 0, identity.length) : known;
    this.#table.declare(number, series.type, source, series.unitFrom, series.unitTo);
    return number;
  }

  #toAliasSource(bytes: Buffer): ByteSource {
    if (this.#aliasBytes !== bytes) {
      this.#aliasBytes = bytes;
      this.#aliasSource = toByteSource(bytes);
    }
    return this.#aliasSource;
  }

  /** The negative number for series that are not stored for this reason. */
  #toRefusalNumber(reason: string | number): number {
    const known = this.#reasons.indexOf(reason);
    return -2 - (known < 0 ? this.#reasons.push(reason) - 1 : known);
  }

  #findUnitRefusal({ unitFrom, unitTo }: SeriesRanges): string | undefined {
    return unitTo - unitFrom > unitBytesMax ? `the unit is longer than ${unitBytesMax} bytes` : undefined;
  }

  /**
   * Why samples of a new series are not stored: a text, or the index of an exclusion; undefined where they are stored.
   */
  #findNewSeriesRefusal(
    series: SeriesRanges,
    source: ByteSource,
    order: readonly number[],
  ): string | number | undefined {
    const reason = this.#findFormRefusal(series, source, order);
    if (reason !== undefined) return reason;
    const { source: identity, length } = this.#identity;
    const excluded = this.#seriesAdmission.findExclusion(series, source, order, { identity, length });
    if (excluded >= 0) return excluded;
    const { high, low } = hash64Words(identity.bytes, 0, length);
    return this.#census?.admit(high, low);
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

  /** The samples of a day, added where there are none yet. */
  #samplesOfDay(day: number): SampleColumns {
    if (this.#newest?.day === day) return this.#newest.samples;
    const samples = getOrMake(this.#days, day, () => new SampleColumns());
    this.#newest = { day, samples };
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
  return { ...batch.finish(), refused };
}
