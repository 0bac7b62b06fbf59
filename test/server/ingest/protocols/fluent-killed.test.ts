/**
 * A server that is killed while messages of Fluent's come: what was acknowledged is stored, nothing is stored in part, and
 * what comes again is stored once.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "@msgpack/msgpack";
import { afterAll, expect, test } from "vitest";
import { countsOf, kill, type ServerProcess, serve, stop } from "../../campaign/server-process.ts";
import { findFreePort } from "../../free-port.ts";

const recordsPerChunk = 5;
const senders = 4;
const acknowledgedBeforeKill = 40;
const startSeconds = Math.floor(Date.now() / 1000) - 3_600;
const dir = mkdtempSync(join(tmpdir(), "svc-fluent-killed-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function makeMessage(chunk: number): Uint8Array {
  const entries = Array.from({ length: recordsPerChunk }, (_, i) => [
    startSeconds + i,
    { message: `record ${i}` },
  ]);
  return encode([`chunk-${chunk}`, entries, { chunk: `id-${chunk}`, size: recordsPerChunk }]);
}

/** Sends chunks one after the other, each when the one before is acknowledged, until the list or the connection ends. */
async function sendChunks(
  port: number,
  chunks: number[],
  onAcknowledged: (chunk: number) => void,
): Promise<void> {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const ended = new Promise<null>((resolve) => socket.once("close", () => resolve(null)));
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
    const acknowledged = once(socket, "data").catch(() => null);
    socket.write(makeMessage(chunk));
    const answer = (await Promise.race([acknowledged, ended])) as [Buffer] | null;
    if (answer === null) return;
    expect(decode(answer[0])).toEqual({ ack: `id-${chunk}` });
    onAcknowledged(chunk);
  }
  socket.destroy();
}

const countRecords = (server: ServerProcess) =>
  countsOf(server, 'count(logs{fluent.tag!=""}) by (fluent.tag)');

test("chunks are stored once each", async () => {
  const port = await findFreePort();
  const flags = ["--fluent", `127.0.0.1:${port}`];
  let server = await serve(dir, { flags });
  const sent = Array.from({ length: 5_000 }, (_, chunk) => chunk);
  const acknowledged = new Set<number>();
  let killed: Promise<void> | undefined;
  const onAcknowledged = (chunk: number) => {
    acknowledged.add(chunk);
    if (acknowledged.size >= acknowledgedBeforeKill) killed ??= kill(server);
  };
  await Promise.all(Array.from({ length: senders }, () => sendChunks(port, sent, onAcknowledged)));
  await killed;
  expect(sent.length).toBeGreaterThan(0);
  server = await serve(dir, { flags });
  const counts = await countRecords(server);
  for (const chunk of acknowledged)
    expect([chunk, counts.get(`chunk-${chunk}`)]).toEqual([chunk, recordsPerChunk]);
  expect(new Set(counts.values())).toEqual(new Set([recordsPerChunk]));
  // All that was sent comes again, as where no acknowledgement has arrived.
  const begun = sent[0]!;
  const again = Array.from({ length: begun }, (_, chunk) => chunk);
  const repeated = new Set<number>();
  await Promise.all(
    Array.from({ length: senders }, () => sendChunks(port, again, (chunk) => repeated.add(chunk))),
  );
  expect(repeated.size).toBe(begun);
  const after = await countRecords(server);
  expect(after.size).toBe(begun);
  expect(new Set(after.values())).toEqual(new Set([recordsPerChunk]));
  await stop(server);
}, 60_000);
