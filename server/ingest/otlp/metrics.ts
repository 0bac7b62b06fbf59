/** Decodes OTLP bodies of metrics into samples, from protobuf and from JSON. */

import type { SampleSink } from "../row-sink.ts";
import { forEachRecord, parseBody } from "./json-body.ts";
import { addMetric } from "./metric-points.ts";
import { WireMetrics } from "./wire-metrics.ts";

const names = { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" };
const noNames: ReadonlySet<string> = new Set();

export function readMetricsJson(body: Buffer, sink: SampleSink): void {
  forEachRecord(parseBody(body), { names, reservedNames: noNames, sink }, (metric, base) => {
    sink.refuseOnProblem(() => addMetric(sink, metric, base));
  });
}

export function readMetricsProtobuf(body: Buffer, sink: SampleSink): void {
  new WireMetrics(body, sink).read();
}
