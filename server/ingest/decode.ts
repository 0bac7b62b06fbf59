/** A body as it came over the wire becomes a batch for the store. Pure: runs on the worker threads. */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { BatchDraft } from "../../engine/index.ts";
import { ingestKeysMax, ingestRowsMax, refusedRowsListed } from "../limits.ts";
import { Refusal } from "../route.ts";
import { unpacked } from "../unpack.ts";
import { JsonLines } from "./json-lines.ts";
import { RowProblem, readLogRow } from "./log-row.ts";
import type { BodyTask, DecodedBody, RefusedKind, RefusedLine } from "./protocol.ts";
import { eachRow } from "./rows.ts";

/** Never throws for what the sender did: that comes back as data. */
export function decodeBody(task: BodyTask): DecodedBody {
  try {
    const body = unpacked(task.body, task.encoding, task.unpackedBytesMax);
    return decodeRows(task, body);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, status: error.status, message: error.message };
  }
}

interface Reading {
  draft: BatchDraft;
  lines: JsonLines;
  body: Buffer;
  /** Whether the body as a whole is UTF-8; only a bad one is checked row by row. */
  isUtf8: boolean;
  arrivalMs: number;
  /** Rows that were read, be they taken or not. */
  rows: number;
  untimed: number;
  /** The first ones in the order of lines. */
  refused: RefusedLine[];
  refusedByKind: Map<RefusedKind, number>;
}

/** Escapes in strings are decoded in place: the body is not to be read again. */
function decodeRows(task: BodyTask, bytes: Uint8Array): DecodedBody {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const key = task.wantsContentKey ? contentKey(task.sender, body) : null;
  const draft = new BatchDraft("logs", { nowMs: task.arrivalMs });
  draft.read(body);
  const reading: Reading = {
    draft,
    lines: new JsonLines(body, draft, { arrivalMs: task.arrivalMs }),
    body,
    isUtf8: isUtf8(body),
    arrivalMs: task.arrivalMs,
    rows: 0,
    untimed: 0,
    refused: [],
    refusedByKind: new Map(),
  };
  eachRow(body, (from, to, line) => readRow(reading, from, to, line));
  const batch = draft.finish();
  return {
    ok: true,
    batch,
    unpackedBytes: body.length,
    // Without times of their own, equal bodies are equal events at different times.
    contentKey: reading.untimed + reading.lines.untimed === 0 && batch.rows > 0 ? key : null,
    refusedByKind: [...reading.refusedByKind],
    refused: reading.refused,
  };
}

function readRow(reading: Reading, from: number, to: number, line: number): void {
  const { body, lines, draft } = reading;
  if (!reading.isUtf8 && !isUtf8(body.subarray(from, to))) {
    refuse(reading, "encoding", line, "not valid UTF-8");
    return;
  }
  const row = lines.read(from, to);
  if (row === undefined) {
    readUnusualRow(reading, body.toString("utf8", from, to), line);
    return;
  }
  countRow(reading);
  const reason = draft.add(row);
  if (reason !== undefined) refuse(reading, "row", line, reason);
}

/** The general way, for rows that JsonLines leaves to it. */
function readUnusualRow(reading: Reading, text: string, line: number): void {
  try {
    const { row, timed } = readLogRow(text, BigInt(reading.arrivalMs) * 1_000_000n);
    checkKeys(reading.draft, row.attributes);
    countRow(reading);
    if (!timed) reading.untimed++;
    const reason = reading.draft.addLogRow(row);
    if (reason !== undefined) refuse(reading, "row", line, reason);
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    refuse(reading, problem.kind, line, problem.message);
  }
}

function countRow(reading: Reading): void {
  if (reading.rows === ingestRowsMax) throw tooManyRows;
  reading.rows++;
}

const tooManyRows = new Refusal(
  413,
  `the body has more than ${ingestRowsMax} rows: send it in smaller parts`,
);

/** Throws RowProblem where a row would bring more keys than a body may have. */
function checkKeys(draft: BatchDraft, attributes: Readonly<Record<string, string>>): void {
  let keys = draft.keyCount;
  for (const key in attributes) {
    if (draft.findKeyText(key) < 0 && ++keys > ingestKeysMax) {
      throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
    }
  }
}

function refuse(reading: Reading, kind: RefusedKind, line: number, reason: string): void {
  reading.refusedByKind.set(kind, (reading.refusedByKind.get(kind) ?? 0) + 1);
  if (reading.refused.length < refusedRowsListed) reading.refused.push({ line, reason });
}

/** The sender's own rows only: two senders may well log the same line in the same nanosecond. */
function contentKey(sender: string, body: Uint8Array): string {
  return createHash("sha256").update(sender).update("\0").update(body).digest("base64url");
}
