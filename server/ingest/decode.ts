/** A body as it came over the wire becomes a batch for the store. Pure: runs on the worker threads. */

import { createHash } from "node:crypto";
import type { LogRow } from "../../engine/index.ts";
import { encodeBatch } from "../../engine/index.ts";
import { ingestKeysMax, ingestRowsMax, refusedRowsListed } from "../limits.ts";
import { Refusal } from "../route.ts";
import { unpacked } from "../unpack.ts";
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
  rows: LogRow[];
  /** The line of each row in `rows`. */
  lines: number[];
  untimed: number;
  /** Attribute keys of all rows. */
  keys: Set<string>;
  /** The first ones in the order of lines. */
  refused: RefusedLine[];
  refusedByKind: Map<RefusedKind, number>;
}

function decodeRows(task: BodyTask, body: Uint8Array): DecodedBody {
  const reading: Reading = {
    rows: [],
    lines: [],
    untimed: 0,
    keys: new Set(),
    refused: [],
    refusedByKind: new Map(),
  };
  const arrivalNs = BigInt(task.arrivalMs) * 1_000_000n;
  eachRow(body, (text, line) => readRow(reading, text, line, arrivalNs));
  const batch = encodeBatch("logs", reading.rows, { nowMs: task.arrivalMs });
  const refusedRows = batch.refused.map(({ index, reason }) => ({ line: reading.lines[index]!, reason }));
  count(reading, "row", refusedRows.length);
  return {
    ok: true,
    batch: { ...batch, refused: [] },
    unpackedBytes: body.length,
    // Without times of their own, equal bodies are equal events at different times.
    contentKey: reading.untimed === 0 && batch.rows > 0 ? contentKey(task.sender, body) : null,
    refusedByKind: [...reading.refusedByKind],
    refused: [...reading.refused, ...refusedRows].sort((a, b) => a.line - b.line).slice(0, refusedRowsListed),
  };
}

function readRow(reading: Reading, text: string | null, line: number, arrivalNs: bigint): void {
  try {
    if (text === null) throw new RowProblem("encoding", "not valid UTF-8");
    const { row, timed } = readLogRow(text, arrivalNs);
    addKeys(reading.keys, row.attributes);
    if (reading.rows.length === ingestRowsMax) throw tooManyRows;
    reading.rows.push(row);
    reading.lines.push(line);
    if (!timed) reading.untimed++;
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    count(reading, problem.kind, 1);
    if (reading.refused.length < refusedRowsListed) reading.refused.push({ line, reason: problem.message });
  }
}

const tooManyRows = new Refusal(
  413,
  `the body has more than ${ingestRowsMax} rows: send it in smaller parts`,
);

function addKeys(keys: Set<string>, attributes: Readonly<Record<string, string>>): void {
  for (const key in attributes) {
    if (keys.has(key)) continue;
    if (keys.size === ingestKeysMax) {
      throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
    }
    keys.add(key);
  }
}

function count(reading: Reading, kind: RefusedKind, rows: number): void {
  if (rows > 0) reading.refusedByKind.set(kind, (reading.refusedByKind.get(kind) ?? 0) + rows);
}

/** The sender's own rows only: two senders may well log the same line in the same nanosecond. */
function contentKey(sender: string, body: Uint8Array): string {
  return createHash("sha256").update(sender).update("\0").update(body).digest("base64url");
}
