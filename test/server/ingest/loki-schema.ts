/**
 * The part of Loki's push request that is stored
 * (https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs).
 */

import protobuf from "protobufjs";

const { root } = protobuf.parse(`syntax = "proto3";
message PushRequest { repeated Stream streams = 1; }
message Stream { string labels = 1; repeated Entry entries = 2; }
message Entry { Timestamp timestamp = 1; string line = 2; repeated Label structured_metadata = 3; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Label { string name = 1; string value = 2; }`);

export const pushRequest = root.lookupType("PushRequest");
