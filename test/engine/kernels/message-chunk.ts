/** Chunks of messages whose variables are stored in every way. */
import { AttributeBuilder, createChunkBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type { ChunkSource } from "../../../engine/chunk/chunk-header.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { readPayload, writePayload } from "../../../engine/files/column-payload.ts";
import type { Random } from "../../../fixtures/random.ts";

/** Messages as a sealed chunk, with an attribute that some of them repeat. */
export function encodeMessageChunk(messages: readonly string[], traceIds: readonly string[]): ChunkSource {
  const builder = createChunkBuilder();
  const attribute = new AttributeBuilder();
  builder.attributes.set("trace_id", attribute);
  for (const [row, message] of messages.entries()) {
    builder.timeNs.push(row);
    builder.arrival.push(row);
    builder.message.pushBytes(Buffer.from(message));
    builder.level.pushText(row, "info");
    attribute.pushText(row, traceIds[row]!);
    builder.rows++;
  }
  const written = serializePart(encodeChunks(builder, { sealed: true })[0]!);
  const bytes = new Uint8Array(written.byteLength);
  writePart(written, bytes, 0);
  return openPart(bytes, 0);
}

/** A chunk whose messages have slots of every kind. */
export function makeMessageChunk(random: Random): { messages: string[]; source: ChunkSource } {
  const rows = 200 + random.below(3_000);
  const ids = Array.from({ length: rows }, () => random.next().toString(16).padStart(8, "0").repeat(2));
  const longText = () => `x9${"abc-".repeat(random.below(200))}`;
  const messages = ids.map((id, row) => {
    switch (random.below(5)) {
      case 0:
        return `trace ${id} took ${random.below(5_000)} ms on node-1, try ${random.below(3)} of r3`;
      case 1:
        return `10.0.${random.below(256)}.${10 + random.below(90)} GET /cart/${random.next().toString(16).padStart(8, "0")}`;
      case 2:
        return `stored ${longText()} at 2025-01-06T00:00:${String(row % 60).padStart(2, "0")}.${100 + random.below(900)}`;
      case 3:
        return `Ended:\n\tid: ${id}\n\tby: ${["a b", "c"][random.below(2)]}\n\ttook: ${row} ms `;
      default:
        return `offset ${random.next() * 2 ** 20 + random.below(2 ** 20)} of 0x${random.below(16).toString(16)}`;
    }
  });
  return { messages, source: encodeMessageChunk(messages, ids) };
}

/** Changes some bytes of a group's streams, or cuts one of them short. */
export function damageVariables(stored: Uint8Array, random: Random): Uint8Array {
  const payload = readPayload(stored.slice());
  // The sizes and the keys are read by TypeScript alone.
  const at = 1 + random.below(4);
  const stream = payload.buffers[at]!;
  if (random.below(3) === 0)
    payload.buffers[at] = stream.subarray(0, (random.below(stream.length + 1) >> 2) << 2);
  else for (let i = 0; i < 3; i++) stream[random.below(stream.length + 1)] = random.below(256);
  return writePayload(payload);
}
