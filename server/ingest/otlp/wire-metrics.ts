/**
 * Reads OTLP metrics from the bytes of protobuf. A point of a gauge or a sum whose series this thread has met is read
 * from its bytes; other points are decoded by protobufjs into the JSON form.
 */

import type { SeriesAliases } from "../../../engine/index.ts";
import { BodyBuffer } from "../body-buffer.ts";
import { type JsonFields, refuseBodyOnProblem } from "../json/json-row.ts";
import { decodeOrRefuse, ProtoScanner } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import { readBase } from "./json-body.ts";
import type { Attributes } from "./json-value.ts";
import { addMetric } from "./metric-points.ts";
import { otlp } from "./schema.ts";
import { WirePoint } from "./wire-point.ts";

const Tag = { resources: 0x0a, resource: 0x0a, scopes: 0x12, scope: 0x0a, metrics: 0x12 } as const;
const MetricTag = {
  name: 0x0a,
  description: 0x12,
  unit: 0x1a,
  gauge: 0x2a,
  sum: 0x3a,
  metadata: 0x62,
} as const;
const DataTag = { points: 0x0a, temporality: 0x10, isMonotonic: 0x18 } as const;

const resourceType = otlp.lookupType("Resource");
const scopeType = otlp.lookupType("InstrumentationScope");
const metricType = otlp.lookupType("Metric");
const pointType = otlp.lookupType("NumberDataPoint");
const jsonForm = { longs: String, bytes: String } as const;

interface Range {
  from: number;
  to: number;
}

/** A gauge or a sum, as far as it is read from bytes. */
interface NumberMetric {
  name: Range;
  unit: Range;
  data: Range;
  isSum: boolean;
  temporality: number;
  isMonotonic: boolean;
}

export class WireMetrics {
  readonly #sink: SampleSink;
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;
  readonly #aliases: SeriesAliases;
  readonly #kind: number;
  readonly #point: WirePoint;
  #resource: Range = { from: 0, to: 0 };
  #scope: Range = { from: 0, to: 0 };
  /** The attributes of resource and scope; undefined until a point asks for them. */
  #base: Attributes | undefined;

  constructor(body: Buffer, sink: SampleSink) {
    this.#sink = sink;
    this.#buffer = new BodyBuffer(body);
    this.#scanner = new ProtoScanner(this.#buffer);
    this.#aliases = sink.builder.readAliases("otlp metrics", body);
    this.#kind = this.#aliases.kindOf("");
    this.#point = new WirePoint(this.#scanner);
  }

  /** Adds all points. Throws Refusal 400 where the body is not valid protobuf. */
  read(): void {
    const scanner = this.#scanner;
    scanner.forEachField(0, this.#buffer.bodyEnd, Tag.resources, (from, to) => {
      const resource = this.#find(from, to, Tag.resource);
      scanner.forEachField(from, to, Tag.scopes, (scopesFrom, scopesTo) => {
        this.#resource = resource;
        this.#scope = this.#find(scopesFrom, scopesTo, Tag.scope);
        this.#base = undefined;
        scanner.forEachField(scopesFrom, scopesTo, Tag.metrics, (metricFrom, metricTo) =>
          this.#readMetric(metricFrom, metricTo),
        );
      });
    });
  }

  #readMetric(from: number, to: number): void {
    const metric = this.#scanMetric(from, to);
    if (metric === undefined) {
      const decoded = this.#decode(metricType, from, to);
      this.#sink.countRepeatedBytes(this.#readBase().copyCost);
      this.#sink.refuseOnProblem(() => addMetric(this.#sink, decoded, this.#readBase()));
      return;
    }
    const { from: dataFrom, to: dataTo } = metric.data;
    const texts = [this.#resource, this.#scope, metric.name, metric.unit].map((range) =>
      this.#aliases.numberOf(range.from, range.to),
    );
    const type = (metric.isSum ? 1 : 0) + (metric.isMonotonic ? 2 : 0) + metric.temporality * 4;
    this.#scanner.forEachField(dataFrom, dataTo, DataTag.points, (pointFrom, pointTo) => {
      this.#aliases.begin(this.#kind);
      for (const text of texts) this.#aliases.addNumber(text);
      this.#aliases.addNumber(type);
      this.#addPoint(metric, pointFrom, pointTo);
    });
  }

  /** Adds the point at [from, to), whose alias was begun. */
  #addPoint(metric: NumberMetric, from: number, to: number): void {
    const { builder } = this.#sink;
    const point = this.#point;
    const isUsual = point.read(from, to);
    if (isUsual) {
      this.#aliases.add(point.attributesFrom, point.attributesTo);
      const alias = this.#aliases.find();
      if (alias >= 0) {
        const { time, start, hasStart } = point;
        const begun = hasStart ? start : undefined;
        this.#sink.countRow(builder.addByAlias(alias, time.seconds, time.nanos, point.value, begun));
        return;
      }
    }
    builder.forgetSeries();
    const dataPoints = [this.#decode(pointType, from, to)];
    this.#sink.refuseOnProblem(() =>
      addMetric(this.#sink, this.#toJson(metric, dataPoints), this.#readBase()),
    );
    if (isUsual) builder.noteAlias();
  }

  /** The JSON form of a metric with these points. */
  #toJson(
    { name, unit, isSum, temporality, isMonotonic }: NumberMetric,
    dataPoints: JsonFields[],
  ): JsonFields {
    const texts = { name: this.#textOf(name), unit: this.#textOf(unit) };
    return isSum
      ? { ...texts, sum: { dataPoints, aggregationTemporality: temporality, isMonotonic } }
      : { ...texts, gauge: { dataPoints } };
  }

  /** Reads the metric at [from, to); undefined unless it is one gauge or one sum of the usual form. */
  #scanMetric(from: number, to: number): NumberMetric | undefined {
    const scanner = this.#scanner;
    const none = { from, to: from };
    const metric = { name: none, unit: none, data: none, isSum: false, temporality: 0, isMonotonic: false };
    let lists = 0;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if ((tag & 7) !== 2) return undefined;
      const end = scanner.readFieldEnd(to);
      const range = { from: scanner.at, to: end };
      scanner.at = end;
      if (tag === MetricTag.name) metric.name = range;
      else if (tag === MetricTag.unit) metric.unit = range;
      else if (tag === MetricTag.gauge || tag === MetricTag.sum) {
        lists++;
        metric.data = range;
        metric.isSum = tag === MetricTag.sum;
      } else if (tag !== MetricTag.description && tag !== MetricTag.metadata) return undefined;
    }
    return lists === 1 && this.#scanData(metric) ? metric : undefined;
  }

  /** Reads what all points of the metric share. Returns false unless it is of the usual form. */
  #scanData(metric: NumberMetric): boolean {
    const scanner = this.#scanner;
    const { from, to } = metric.data;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === DataTag.points) scanner.at = scanner.readFieldEnd(to);
      else if (!metric.isSum || (tag !== DataTag.temporality && tag !== DataTag.isMonotonic)) return false;
      else {
        scanner.readVarint64(to);
        if (tag === DataTag.temporality) metric.temporality = scanner.low >>> 0;
        else metric.isMonotonic = (scanner.low | scanner.high) !== 0;
      }
    }
    return metric.temporality < temporalities;
  }

  /** The attributes that all points of the scope share. Throws Refusal 400 where one is wrong. */
  #readBase(): Attributes {
    if (this.#base !== undefined) return this.#base;
    const resource = this.#decode(resourceType, this.#resource.from, this.#resource.to);
    const scope = this.#decode(scopeType, this.#scope.from, this.#scope.to);
    this.#base = refuseBodyOnProblem(() => readBase(resource, scope));
    this.#sink.countRepeatedBytes(this.#base.copyCost);
    return this.#base;
  }

  #decode(type: typeof metricType, from: number, to: number): JsonFields {
    return decodeOrRefuse(() => type.toObject(type.decode(this.#buffer.bytes.subarray(from, to)), jsonForm));
  }

  #textOf({ from, to }: Range): string {
    return this.#buffer.bytes.toString("utf8", from, to);
  }

  /** Finds the last field with this tag; an empty range where there is none. */
  #find(from: number, to: number, wantedTag: number): Range {
    let found = { from, to: from };
    this.#scanner.forEachField(from, to, wantedTag, (fieldFrom, fieldTo) => {
      found = { from: fieldFrom, to: fieldTo };
    });
    return found;
  }
}

/** Numbers of temporalities that the specification knows: unspecified, delta, cumulative. */
const temporalities = 3;
