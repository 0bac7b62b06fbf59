/**
 * Messages between the HTTP thread and the decoding threads: plain data; bodies are transferred, batches are shared.
 */

import type {
  ActiveSeriesTables,
  AdmissionCounts,
  ChunkCaps,
  EncodedBatch,
  RowSignal,
} from "../../engine/index.ts";
import type { Encoding } from "../api/content-encoding.ts";
import type { AdmissionSettings } from "./admission-settings.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";
import type { Family } from "./prometheus/families.ts";
import type { SharedJson } from "./shared-memory-json.ts";

/** Formats of bodies: a protocol, with its signal, encoding or version where it has several. */
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
  | "elasticsearch document"
  | "splunk events"
  | "splunk lines"
  | "fluent forward"
  | "zipkin"
  | "jaeger"
  | "datadog"
  | "datadog text"
  | "journal export"
  | "gelf"
  | "gelf messages"
  | "influx lines"
  | "syslog"
  | "remote write 1"
  | "remote write 2";

/** What a body holds. The tables that count active series over all threads are in shared memory. */
type BodyContent = { signal: RowSignal } | { signal: "metrics"; activeSeries: ActiveSeriesTables };

interface BodyAdmission {
  settings: AdmissionSettings;
  /** Stamped on every row; null stamps nothing. */
  environment: string | null;
  rules: SharedJson;
}

/** A piece of a body: whole lines, which are stored once however often they are sent. */
export interface BodyPiece {
  bytes: Uint8Array;
  /** Hash of its idempotency key. */
  keyHash: string;
  /** Number of its first line, from 1. Undefined: the line after the previous piece, or line 1. */
  firstLine?: number | undefined;
}

/** Bytes of pieces together. */
export function sumBytes(pieces: readonly Pick<BodyPiece, "bytes">[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}

/** The buffers of bytes that can be transferred: those that are not shared. Several bytes may lie in one. */
export function listBuffers(bytes: readonly Uint8Array[]): ArrayBuffer[] {
  return [...new Set(bytes.map(({ buffer }) => buffer))].filter((buffer) => buffer instanceof ArrayBuffer);
}

/** One body to decode, with everything that decides what becomes of it. */
export interface BodyTask {
  content: BodyContent;
  format: BodyFormat;
  /** Transferred, unless it lies in shared memory: the sending thread cannot read it any more. */
  body: Uint8Array;
  /** The body in pieces; `body` is empty then (JSON lines). Transferred unless they are in shared memory. */
  pieces?: readonly BodyPiece[] | undefined;
  encoding: Encoding;
  unpackedBytesMax: number;
  arrivalMs: number;
  /** Id of the token that sent the body. */
  sender: string;
  /** Asks for an idempotency key made of the body's content. */
  wantsContentKey: boolean;
  /** Log messages that are JSON objects become attributes. */
  flattensJson: boolean;
  /** Metric families that earlier bodies of remote write described. */
  families: SharedJson;
  /** The index of rows that name none themselves (Elasticsearch). */
  index: string;
  /** What else the sender said of the whole body, outside of it: parameters by names that the format gives them. */
  parameters?: Readonly<Record<string, string>> | undefined;
  /** Positions of the documents with ids of the sender's own that are stored already (Elasticsearch, journald). */
  storedDocuments?: readonly number[];
  /** The fields of log rows that the sender named (JSON lines). */
  fieldNames?: LogFieldNames | undefined;
  /** See `FinishOptions` of the engine's batches. */
  packedCaps?: ChunkCaps | undefined;
  /** What decides which rows are admitted; without it only the engine's own bounds apply. */
  admission?: BodyAdmission;
}

/** The documents with ids that a body adds. */
export interface BodyDocuments {
  /** The digest of each, one after the other. */
  digests: Uint8Array;
  /** The position of each among all documents of the body that have ids, from 0. */
  positions: number[];
}

/** Why a row was refused, as the metrics count it; "row" is a row that could be read but not stored. */
export type RefusedKind = "encoding" | "json" | "field" | "row";

export interface RefusedLine {
  /** From 1; in a body that is a JSON array, the number of the element. */
  line: number;
  reason: string;
}

/**
 * What a body became: a batch and what is to be reported of its rows, or (`ok: false`) the HTTP status and message with
 * which the whole body is refused.
 */
export type DecodedBody =
  | {
      ok: true;
      /** The batch's bytes are in shared memory. */
      batch: EncodedBatch;
      unpackedBytes: number;
      /**
       * Identifies this body among all of its sender. Null where no key was asked for, or where a row had no time of
       * its own.
       */
      contentKey: string | null;
      refusedByKind: [RefusedKind, number][];
      /** Numbers of rows that ingestion rules left out, by the rule's id. */
      dropped: [rule: string, rows: number][];
      admissionCounts: AdmissionCounts;
      /** The answer to the sender, where the protocol reports on each row. */
      answer?: string | undefined;
      /** Documents with ids of the sender's own, and the body, transferred back: it is read again if one of them is stored. */
      documents?: (BodyDocuments & { body: Uint8Array }) | undefined;
      /** Events and links of spans that did not fit into their row. */
      cutElements: number;
      /** Metric families that the body describes. */
      families?: Family[] | undefined;
      /** The first refused lines, in order. */
      refused: RefusedLine[];
    }
  | { ok: false; status: number; message: string };

/** Small bodies go to a thread in groups: one message carries several. */
export type DecodeTask = BodyTask[];
/** What became of one body; `fault` is the stack of an error in the decoder. */
export type BodyResult = { decoded: DecodedBody } | { fault: string };
export type DecodeResult = BodyResult[];
/** Sent once a decoding thread has loaded its program. `thread` is what `findOwnThread` returns on it. */
interface DecodeReady {
  thread: string | undefined;
}
/** What a decoding thread is started with. */
export interface DecodeThreadData {
  /** In shared memory: the position in its group of the body that is being decoded. */
  position: Int32Array;
  /** The memory for series of samples that the thread keeps from body to body. */
  seriesBytesMax: number;
}

/** Says that all pieces of a body are read, so that their memory may be used for others. */
interface DecodeRead {
  /** Position of the body in its group. */
  read: number;
}

/** What a decoding thread sends: once that it is ready, then the result of each task. */
export type DecodeAnswer = DecodeReady | DecodeRead | DecodeResult;
