/** A body as it came over the wire becomes a batch for the store. Pure: runs on the worker threads. */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { EncodedBatch, EntryTally } from "../../engine/index.ts";
import { unpacked } from "../api/content-encoding.ts";
import { Refusal } from "../limits/refusal.ts";
import { droppedBy } from "./admission.ts";
import type { BodyTask, DecodedBody, RefusedKind, RefusedLine } from "./decode-task.ts";
import { formats } from "./formats.ts";
import { type BatchReader, RowReader, SampleReader } from "./json/batch-reader.ts";
import { RowProblem } from "./json/json-row.ts";
import { eachRow } from "./json/row-splitter.ts";
import { ingestRowsMax, refusedRowsListed } from "./limits.ts";
import { tooManyRows } from "./row-sink.ts";

/** Never throws for what the sender did: that comes back as data. */
export function decodeBody(task: BodyTask): DecodedBody {
  try {
    const body = unpacked(task.body, task.encoding, task.unpackedBytesMax);
    return task.format === "json lines" ? decodeRows(task, body) : decodeFormat(task, task.format, body);
  } catch (error) {
    if (error instanceof RangeError)
      return { ok: false, status: 400, message: "the body is nested too deeply" };
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, status: error.status, message: error.message };
  }
}

interface Reading {
  reader: BatchReader;
  body: Buffer;
  /** Whether the body as a whole is UTF-8; only a bad one is checked row by row. */
  isUtf8: boolean;
  /** Rows that were read, be they taken or not. */
  rows: number;
  /** The first ones in the order of lines. */
  refused: RefusedLine[];
  refusedByKind: Map<RefusedKind, number>;
}

function decodeRows(task: BodyTask, bytes: Uint8Array): DecodedBody {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const key = task.wantsContentKey ? contentKey(`${task.sender}${optionsOf(task)}`, body) : null;
  const reader = readerOf(task, body);
  const reading: Reading = {
    reader,
    body,
    isUtf8: isUtf8(body),
    rows: 0,
    refused: [],
    refusedByKind: new Map(),
  };
  eachRow(body, (from, to, line) => readRow(reading, from, to, line));
  const batch = reader.finish();
  const { tally } = reader;
  return {
    ok: true,
    batch,
    unpackedBytes: body.length,
    // Without times of their own, equal bodies are equal events at different times.
    contentKey: reader.untimed === 0 && hasGoodRows(batch, tally) ? key : null,
    dropped: droppedBy(task, tally),
    tally,
    refusedByKind: [...reading.refusedByKind],
    refused: reading.refused,
  };
}

function decodeFormat(task: BodyTask, name: keyof typeof formats, bytes: Uint8Array): DecodedBody {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sink = formats[name](body, task);
  const batch = sink.finish();
  const { tally } = sink;
  const isKnowable = task.wantsContentKey && sink.untimed === 0 && hasGoodRows(batch, tally);
  return {
    ok: true,
    batch,
    unpackedBytes: body.length,
    contentKey: isKnowable
      ? contentKey(`${task.sender}\0${name}\0${task.index}${optionsOf(task)}`, body)
      : null,
    dropped: droppedBy(task, tally),
    tally,
    answer: sink.answer,
    families: sink.families,
    refusedByKind: [...sink.refusedByKind],
    refused: sink.refused,
  };
}

function readerOf(task: BodyTask, body: Buffer): BatchReader {
  const { what } = task;
  return what.signal === "metrics"
    ? new SampleReader(body, task, what.census)
    : new RowReader(what.signal, body, task);
}

/** A body is known again for rows that rules left out, too: should the rules change, it adds nothing. */
function hasGoodRows(batch: EncodedBatch, { excluded }: EntryTally): boolean {
  return batch.rows > 0 || excluded.some((rows) => rows > 0);
}

function readRow(reading: Reading, from: number, to: number, line: number): void {
  const { body, reader } = reading;
  if (!reading.isUtf8 && !isUtf8(body.subarray(from, to))) {
    refuse(reading, "encoding", line, "not valid UTF-8");
    return;
  }
  try {
    const reason = reader.take(from, to);
    if (++reading.rows > ingestRowsMax) throw tooManyRows;
    if (reason !== undefined) refuse(reading, "row", line, reason);
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    refuse(reading, problem.kind, line, problem.message);
  }
}

function refuse(reading: Reading, kind: RefusedKind, line: number, reason: string): void {
  reading.refusedByKind.set(kind, (reading.refusedByKind.get(kind) ?? 0) + 1);
  if (reading.refused.length < refusedRowsListed) reading.refused.push({ line, reason });
}

/** What else decides which rows a body becomes. */
function optionsOf({ flattensJson }: BodyTask): string {
  return flattensJson ? "\0flat" : "";
}

/** The sender's own rows only: two senders may well log the same line in the same nanosecond. */
function contentKey(sender: string, body: Uint8Array): string {
  return createHash("sha256").update(sender).update("\0").update(body).digest("base64url");
}
