/**
 * The parts of Prometheus' remote write that are stored (https://prometheus.io/docs/specs/prw/remote_write_spec/ and
 * …/remote_write_spec_2_0/). Histograms are the same message in both versions, except for the names of their counts.
 */

import protobuf from "protobufjs";

const histogram = `
message Histogram {
  oneof count { uint64 count_int = 1; double count_float = 2; }
  double sum = 3; sint32 schema = 4; double zero_threshold = 5;
  oneof zero_count { uint64 zero_count_int = 6; double zero_count_float = 7; }
  repeated BucketSpan negative_spans = 8; repeated sint64 negative_deltas = 9; repeated double negative_counts = 10;
  repeated BucketSpan positive_spans = 11; repeated sint64 positive_deltas = 12; repeated double positive_counts = 13;
  int32 reset_hint = 14; int64 timestamp = 15; repeated double custom_values = 16; int64 start_timestamp = 17;
}
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
message Sample { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3; }`;

const version1 = `
message WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; repeated Histogram histograms = 4; }
message Label { string name = 1; string value = 2; }
message MetricMetadata { int32 type = 1; string metric_family_name = 2; string unit = 5; }`;

const version2 = `
message Request { repeated string symbols = 4; repeated TimeSeries timeseries = 5; }
message TimeSeries {
  repeated uint32 labels_refs = 1; repeated Sample samples = 2; repeated Histogram histograms = 3; Metadata metadata = 5;
  int64 created_timestamp = 6;
}
message Metadata { int32 type = 1; uint32 unit_ref = 4; }`;

function parseMessages(text: string): protobuf.Root {
  return protobuf.parse(`syntax = "proto3";${histogram}${text}`).root;
}

const messages1 = parseMessages(version1);
const messages2 = parseMessages(version2);
export const writeRequest1 = messages1.lookupType("WriteRequest");
export const writeRequest2 = messages2.lookupType("Request");
/** The messages of a request that are decoded by themselves. */
export const series1 = messages1.lookupType("TimeSeries");
export const metadata1 = messages1.lookupType("MetricMetadata");
export const series2 = messages2.lookupType("TimeSeries");

/** A 64-bit integer of protobufjs. */
export interface Long {
  toNumber(): number;
  toString(): string;
}

export interface WireSample {
  value: number;
  timestamp: Long;
  /** When the counter began; 0 where that is not known, or where the series says it. */
  startTimestamp: Long;
}

export interface WireHistogram {
  /** Either integer counts or float counts are sent; the others are null. */
  sum: number;
  schema: number;
  zeroThreshold: number;
  zeroCountInt: Long | null;
  zeroCountFloat: number | null;
  negativeSpans: WireSpan[];
  negativeDeltas: Long[];
  negativeCounts: number[];
  positiveSpans: WireSpan[];
  positiveDeltas: Long[];
  positiveCounts: number[];
  resetHint: number;
  timestamp: Long;
  startTimestamp: Long;
  customValues: number[];
}

export interface WireSpan {
  offset: number;
  length: number;
}

export interface Series1 {
  labels: { name: string; value: string }[];
  samples: WireSample[];
  histograms: WireHistogram[];
}

export interface Metadata1 {
  type: number;
  metricFamilyName: string;
  unit: string;
}

export interface Series2 {
  labelsRefs: number[];
  samples: WireSample[];
  histograms: WireHistogram[];
  metadata: { type: number; unitRef: number } | null;
  /** As of an earlier draft, instead of the start of each sample. */
  createdTimestamp: Long;
}
