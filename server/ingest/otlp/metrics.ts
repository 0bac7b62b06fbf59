/** OTLP's bodies of metrics become samples. Protobuf is decoded to JSON's form first: points are few beside logs and spans. */

import { type JsonFields, RowProblem } from "../json/json-row.ts";
import { malformed } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import { eachRecord, parsedBody } from "./json-body.ts";
import { addMetric } from "./metric-points.ts";
import { otlp } from "./schema.ts";

const names = { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" };
const noNames: ReadonlySet<string> = new Set();
const request = otlp.lookupType("MetricsRequest");

export function readMetricsJson(body: Buffer, sink: SampleSink): void {
  readMetrics(parsedBody(body), sink);
}

export function readMetricsProtobuf(body: Buffer, sink: SampleSink): void {
  readMetrics(decodedRequest(body), sink);
}

function decodedRequest(body: Buffer): JsonFields {
  try {
    return request.toObject(request.decode(body), { longs: String, bytes: String });
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

function readMetrics(json: JsonFields, sink: SampleSink): void {
  eachRecord(json, { names, own: noNames, sink }, (metric, base) => {
    try {
      addMetric(sink, metric, base);
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      sink.refuse(problem);
    }
  });
}
