/** Every format of a body that is not JSON lines, and what reads it. */

import type { RowSignal } from "../../engine/index.ts";
import { readLogsJson, readLogsProtobuf, readTracesJson, readTracesProtobuf } from "./otlp/decode.ts";
import type { RowSink } from "./row-sink.ts";

interface Format {
  signal: RowSignal;
  /** Reads the whole body, or throws Refusal. */
  read(body: Buffer, sink: RowSink): void;
}

export const formats = {
  "otlp logs": { signal: "logs", read: readLogsProtobuf },
  "otlp logs json": { signal: "logs", read: readLogsJson },
  "otlp traces": { signal: "traces", read: readTracesProtobuf },
  "otlp traces json": { signal: "traces", read: readTracesJson },
} as const satisfies Record<string, Format>;
