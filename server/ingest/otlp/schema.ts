/**
 * The messages of OTLP 1.x (https://opentelemetry.io/docs/specs/otlp/) that are stored or answered. Field numbers and
 * types are the specification's; fields that are left out here are skipped when they come.
 */

import protobuf from "protobufjs";

const common = `
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
message Resource { repeated KeyValue attributes = 1; }
message Status { int32 code = 1; string message = 2; }`;

const logs = `
message LogsRequest { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { InstrumentationScope scope = 1; repeated LogRecord log_records = 2; }
message LogRecord {
  fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11;
  int32 severity_number = 2; string severity_text = 3; AnyValue body = 5; repeated KeyValue attributes = 6;
  bytes trace_id = 9; bytes span_id = 10; string event_name = 12; uint32 dropped_attributes_count = 7;
}
message LogsPartialSuccess { int64 rejected_log_records = 1; string error_message = 2; }
message LogsResponse { LogsPartialSuccess partial_success = 1; }`;

const traces = `
message TraceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; repeated Link links = 13; SpanStatus status = 15;
  uint32 dropped_attributes_count = 10; uint32 dropped_events_count = 12; uint32 dropped_links_count = 14;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; }
message SpanStatus { string message = 2; int32 code = 3; }
message TracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
message TraceResponse { TracePartialSuccess partial_success = 1; }`;

const metrics = `
message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { InstrumentationScope scope = 1; repeated Metric metrics = 2; }
message Metric {
  string name = 1; string unit = 3;
  Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; ExponentialHistogram exponential_histogram = 10; Summary summary = 11;
}
message Gauge { repeated NumberDataPoint data_points = 1; }
message Sum { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
message ExponentialHistogram { repeated ExponentialDataPoint data_points = 1; int32 aggregation_temporality = 2; }
message Summary { repeated SummaryDataPoint data_points = 1; }
message NumberDataPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; uint32 flags = 8;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
}
message HistogramDataPoint {
  repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; uint32 flags = 10;
  fixed64 count = 4; optional double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
}
message ExponentialDataPoint {
  repeated KeyValue attributes = 1; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; uint32 flags = 10;
  fixed64 count = 4; optional double sum = 5; sint32 scale = 6; fixed64 zero_count = 7; double zero_threshold = 14;
  Buckets positive = 8; Buckets negative = 9;
}
message Buckets { sint32 offset = 1; repeated uint64 bucket_counts = 2; }
message SummaryDataPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; uint32 flags = 8;
  fixed64 count = 4; double sum = 5; repeated ValueAtQuantile quantile_values = 6;
}
message ValueAtQuantile { double quantile = 1; double value = 2; }
message MetricsPartialSuccess { int64 rejected_data_points = 1; string error_message = 2; }
message MetricsResponse { MetricsPartialSuccess partial_success = 1; }`;

/** Look-up of the messages above by name. */
export const otlp = protobuf.parse(`syntax = "proto3";${common}${logs}${traces}${metrics}`).root;
