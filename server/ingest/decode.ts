/** Decodes a body from the wire into a batch for the store. Pure: runs on decoding threads. */

import { createHash } from "node:crypto";
import { type AdmissionCounts, type EncodedBatch, isTrap } from "../../engine/index.ts";
import { unpack } from "../api/content-encoding.ts";
import { Refusal } from "../throttle/refusal.ts";
import { countDroppedRows } from "./admission.ts";
import { type BodyTask, type DecodedBody, sumBytes } from "./decode-task.ts";
import { formats } from "./formats.ts";
import { isAllocationFailure, isStackOverflow } from "./range-error.ts";

/**
 * Decodes a body of any format into a batch. What the sender did wrong is returned as data (`ok: false`, or refused
 * lines); only a bug throws. `onRead` is called once the pieces of a body are not needed any more.
 */
export function decodeBody(task: BodyTask, onRead?: () => void): DecodedBody {
  try {
    return decodeUnpacked(task, unpack(task.body, task.encoding, task.unpackedBytesMax), onRead);
  } catch (error) {
    if (isStackOverflow(error)) return { ok: false, status: 400, message: "the body is nested too deeply" };
    if (isTrap(error) || isAllocationFailure(error))
      return { ok: false, status: 413, message: "the body takes more memory than there is" };
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, status: error.status, message: error.message };
  }
}

function decodeUnpacked(task: BodyTask, bytes: Uint8Array, onRead?: () => void): DecodedBody {
  const { format, wantsContentKey } = task;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sink = formats[format](body, task);
  if (task.pieces !== undefined) onRead?.();
  const batch = sink.finish();
  sink.release();
  const { admissionCounts } = sink;
  // Without times of their own, equal bodies are different events, so they get no key.
  const isKnowable =
    wantsContentKey && sink.isSentOnce && sink.untimedRows === 0 && hasGoodRows(batch, admissionCounts);
  return {
    ok: true,
    batch,
    unpackedBytes: body.length + sumBytes(task.pieces ?? []) + sink.innerBytes,
    contentKey: isKnowable ? contentKey(task, body) : null,
    dropped: countDroppedRows(task, admissionCounts),
    admissionCounts,
    answer: sink.answer,
    documents: sink.documents === undefined ? undefined : { ...sink.documents, body: task.body },
    cutElements: sink.cutElements,
    families: sink.families,
    refusedByKind: [...sink.refusedByKind],
    refused: sink.refused,
  };
}

/**
 * A body whose rows were all left out by rules gets a key as well: sent again after the rules changed, it adds nothing.
 */
function hasGoodRows(batch: EncodedBatch, { excluded }: AdmissionCounts): boolean {
  return batch.rows > 0 || excluded.some((rows) => rows > 0);
}

/**
 * A key from the content of a body. It contains the sender, since two senders may log the same line in the same
 * nanosecond, and everything else that decides which rows the body becomes. The format of JSON lines is left out: they
 * were once the only format, and their stored keys stay valid.
 */
function contentKey(task: BodyTask, body: Uint8Array): string {
  const { sender, format, index, flattensJson, fieldNames, parameters } = task;
  const read = format === "json lines" ? "" : `\0${format}\0${index}`;
  const names = fieldNames === undefined ? "" : `\0fields\0${JSON.stringify(fieldNames)}`;
  const said = parameters === undefined ? "" : `\0parameters\0${JSON.stringify(parameters)}`;
  const scope = `${sender}${read}${flattensJson ? "\0flat" : ""}${names}${said}`;
  return createHash("sha256").update(scope).update("\0").update(body).digest("base64url");
}
