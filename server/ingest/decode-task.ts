/** What goes between the HTTP thread and the workers that decode bodies: plain data; bodies are transferred, batches shared. */

import type { ActiveSeriesTables, AdmissionCounts, EncodedBatch, RowSignal } from "../../engine/index.ts";
import type { Encoding } from "../api/content-encoding.ts";
import type { AdmissionSettings } from "./admission-settings.ts";
import type { Family } from "./prometheus/families.ts";
import type { SharedJson } from "./shared-json.ts";

export type BodyFormat =
  | "json lines"
  | "otlp logs"
  | "otlp logs json"
  | "otlp traces"
  | "otlp traces json"
  | "otlp metrics"
  | "otlp metrics json"
  | "loki"
  | "loki json"
  | "elasticsearch bulk"
  | "syslog"
  | "remote write 1"
  | "remote write 2";

/** What a body holds; the tables, by which series are counted over all threads, are in shared memory. */
type BodyContent = { signal: RowSignal } | { signal: "metrics"; census: ActiveSeriesTables };

interface BodyEntry {
  settings: AdmissionSettings;
  /** Stamped on every row; null: nothing is. */
  environment: string | null;
  rules: SharedJson;
}

export interface BodyTask {
  what: BodyContent;
  format: BodyFormat;
  /** Transferred: gone from the sending thread. */
  body: Uint8Array<ArrayBuffer>;
  encoding: Encoding;
  unpackedBytesMax: number;
  arrivalMs: number;
  /** Id of the token that sent it. */
  sender: string;
  /** Whether the body is to be known again by its content. */
  wantsContentKey: boolean;
  /** Messages of logs that are JSON objects become attributes. */
  flattensJson: boolean;
  /** What senders of remote write told of metric families before. */
  families: SharedJson;
  /** Where rows go that name no index themselves (Elasticsearch). */
  index: string;
  /** On which terms its rows are taken; without them on the engine's own. */
  entry?: BodyEntry;
}

export type RefusedKind = "encoding" | "json" | "field" | "row";

export interface RefusedLine {
  /** From 1; the number of the element where the body is a JSON array. */
  line: number;
  reason: string;
}

export type DecodedBody =
  | {
      ok: true;
      /** Its bytes are in shared memory. */
      batch: EncodedBatch;
      unpackedBytes: number;
      /** Tells this body from any other of the sender; null where that was not wanted, or a row had no time of its own. */
      contentKey: string | null;
      refusedByKind: [RefusedKind, number][];
      /** Rows that ingestion rules left out, by the rule's id. */
      dropped: [rule: string, rows: number][];
      tally: AdmissionCounts;
      /** What the sender is to be answered, where the protocol tells of each row. */
      answer?: string | undefined;
      /** What the body tells of metric families. */
      families?: Family[] | undefined;
      /** In the order of lines, the first ones only. */
      refused: RefusedLine[];
    }
  | { ok: false; status: number; message: string };

/** Several small bodies make one trip. */
export type DecodeTask = BodyTask[];
export type DecodeResult = DecodedBody[];
