/** Decoding with columns in WebAssembly against the same with columns in TypeScript, where nothing is read by kernels. */
import { expect } from "vitest";
import { PlainColumns } from "../../../engine/index.ts";
import { decodeBody } from "../../../server/index.ts";
import type { BodyTask, DecodedBody } from "../../../server/ingest/decode-task.ts";
import { RowSink } from "../../../server/ingest/row-sink.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";

/** Expects a body of logs to become the same batch, byte for byte, and the same answer, as `read` makes of it. */
export function checkAgainstPlain(
  task: BodyTask,
  read: (body: Buffer, sink: RowSink, task: BodyTask) => void,
): DecodedBody {
  const body = Buffer.from(task.body);
  const sink = new RowSink("logs", task, new PlainColumns());
  const decoded = decodeBody(task);
  try {
    read(body, sink, task);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const { status, message } = refusal;
    expect(decoded).toMatchObject({ ok: false, status });
    if (!decoded.ok) expect(withoutDetail(decoded.message)).toBe(withoutDetail(message));
    return decoded;
  }
  if (!decoded.ok) throw new Error(decoded.message);
  const { documents, refused, refusedByKind, admissionCounts } = sink;
  expect(decoded.answer).toBe(sink.answer);
  expect(decoded.refused).toEqual(refused);
  expect(decoded.refusedByKind).toEqual([...refusedByKind]);
  expect(decoded.admissionCounts).toEqual(admissionCounts);
  expect(decoded.documents).toEqual(documents === undefined ? undefined : { ...documents, body: task.body });
  if (sink.untimedRows > 0) expect(decoded.contentKey).toBeNull();
  const batch = sink.finish();
  expect(decoded.batch.rows).toBe(batch.rows);
  if (batch.rows > 0 && sink.untimedRows === 0) expect(decoded.contentKey).not.toBeNull();
  expect(Buffer.from(decoded.batch.bytes).equals(Buffer.from(batch.bytes))).toBe(true);
  return decoded;
}

/** Readers of protobuf say in different words what is wrong with the bytes. */
function withoutDetail(message: string): string {
  return message.replace(/^(the body is not valid protobuf): .*$/s, "$1");
}
