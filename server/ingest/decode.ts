/** A body as it came over the wire becomes a batch for the store. Pure: runs on the worker threads. */

import { createHash } from "node:crypto";
import type { AdmissionCounts, EncodedBatch } from "../../engine/index.ts";
import { unpack } from "../api/content-encoding.ts";
import { Refusal } from "../limits/refusal.ts";
import { droppedBy } from "./admission.ts";
import type { BodyTask, DecodedBody } from "./decode-task.ts";
import { formats } from "./formats.ts";

/** Never throws for what the sender did: that comes back as data. */
export function decodeBody(task: BodyTask): DecodedBody {
  try {
    return decodeUnpacked(task, unpack(task.body, task.encoding, task.unpackedBytesMax));
  } catch (error) {
    if (error instanceof RangeError)
      return { ok: false, status: 400, message: "the body is nested too deeply" };
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, status: error.status, message: error.message };
  }
}

function decodeUnpacked(task: BodyTask, bytes: Uint8Array): DecodedBody {
  const { format, wantsContentKey } = task;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // JSON lines are decoded in place: behind that the body is another one.
  const keyBefore = wantsContentKey && format === "json lines" ? contentKey(task, body) : undefined;
  const sink = formats[format](body, task);
  const batch = sink.finish();
  const { tally } = sink;
  // Without times of their own, equal bodies are equal events at different times.
  const isKnowable = wantsContentKey && sink.untimed === 0 && hasGoodRows(batch, tally);
  return {
    ok: true,
    batch,
    unpackedBytes: body.length,
    contentKey: isKnowable ? (keyBefore ?? contentKey(task, body)) : null,
    dropped: droppedBy(task, tally),
    tally,
    answer: sink.answer,
    families: sink.families,
    refusedByKind: [...sink.refusedByKind],
    refused: sink.refused,
  };
}

/** A body is known again for rows that rules left out, too: should the rules change, it adds nothing. */
function hasGoodRows(batch: EncodedBatch, { excluded }: AdmissionCounts): boolean {
  return batch.rows > 0 || excluded.some((rows) => rows > 0);
}

/**
 * The sender's own rows only: two senders may well log the same line in the same nanosecond. With the body goes what else decides which
 * rows it becomes; JSON lines were once the only format, so that their keys name none.
 */
function contentKey({ sender, format, index, flattensJson }: BodyTask, body: Uint8Array): string {
  const read = format === "json lines" ? "" : `\0${format}\0${index}`;
  const scope = `${sender}${read}${flattensJson ? "\0flat" : ""}`;
  return createHash("sha256").update(scope).update("\0").update(body).digest("base64url");
}
