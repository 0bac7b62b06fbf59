/**
 * Decodes OTLP bodies of metrics into samples. Protobuf is converted to the JSON form first: points are few compared
 * with logs and spans.
 */

import type { JsonFields } from "../json/json-row.ts";
import { decodeOrRefuse } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import { forEachRecord, parseBody } from "./json-body.ts";
import { addMetric } from "./metric-points.ts";
import { otlp } from "./schema.ts";

const names = { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" };
const noNames: ReadonlySet<string> = new Set();
const request = otlp.lookupType("MetricsRequest");

export function readMetricsJson(body: Buffer, sink: SampleSink): void {
  readMetrics(parseBody(body), sink);
}

export function readMetricsProtobuf(body: Buffer, sink: SampleSink): void {
  const decoded = decodeOrRefuse(() =>
    request.toObject(request.decode(body), { longs: String, bytes: String }),
  );
  readMetrics(decoded, sink);
}

function readMetrics(json: JsonFields, sink: SampleSink): void {
  forEachRecord(json, { names, reservedNames: noNames, sink }, (metric, base) => {
    sink.refuseOnProblem(() => addMetric(sink, metric, base));
  });
}
