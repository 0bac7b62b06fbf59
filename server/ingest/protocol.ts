/** What goes between the HTTP thread and the workers that decode bodies: plain data; bodies are transferred, batches shared. */

import type { CensusTables, EncodedBatch, RowSignal } from "../../engine/index.ts";
import type { Encoding } from "../unpack.ts";

/** What a body holds; the tables, by which series are counted over all threads, are in shared memory. */
type BodyContent = { signal: RowSignal } | { signal: "metrics"; census: CensusTables };

export interface BodyTask {
  what: BodyContent;
  /** Transferred: gone from the sending thread. */
  body: Uint8Array<ArrayBuffer>;
  encoding: Encoding;
  unpackedBytesMax: number;
  arrivalMs: number;
  /** Id of the token that sent it. */
  sender: string;
  /** Whether the body is to be known again by its content. */
  wantsContentKey: boolean;
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
      /** In the order of lines, the first ones only. */
      refused: RefusedLine[];
    }
  | { ok: false; status: number; message: string };

/** Several small bodies make one trip. */
export type DecodeTask = BodyTask[];
export type DecodeResult = DecodedBody[];
