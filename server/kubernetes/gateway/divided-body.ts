/** Sends a body in parts where the hub, or a proxy before it, takes no body of its size. */

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { type Encoding, unpack } from "../../api/content-encoding.ts";
import { ingestUnpackedBytesMax } from "../../ingest/limits.ts";
import { protobufType } from "../../ingest/otlp/answer.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { OutgoingBody } from "./buffer-entry.ts";
import type { HubOutcome } from "./hub-sender.ts";
import { packBytesMin } from "./limits.ts";
import { jsonLinesType } from "./row-batch.ts";
import { halveProtobuf } from "./wire/wire-halves.ts";

const tooLarge = 413;
const compress = promisify(zstdCompress);
const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

type Send = (body: OutgoingBody) => Promise<HubOutcome>;

/**
 * Sends a body, and where it is too large its halves, and their halves. The keys of parts follow from that of the body: where
 * some were taken and the body is sent again, they add nothing. `taken` holds the keys of those that need not be sent again.
 * The outcome is `refused` where any part is refused.
 */
export async function sendDivided(
  body: OutgoingBody,
  send: Send,
  taken = new Set<string>(),
): Promise<HubOutcome> {
  if (taken.has(body.key)) return { kind: "taken", contentType: body.contentType, body: Buffer.alloc(0) };
  const outcome = await send(body);
  if (outcome.kind === "taken") taken.add(body.key);
  if (outcome.kind !== "refused" || outcome.status !== tooLarge) return outcome;
  const halves = await halveBody(body).catch((error: unknown) => {
    // What is no OTLP cannot be divided.
    if (error instanceof Refusal) return undefined;
    throw error;
  });
  if (halves === undefined) return outcome;
  const first = await sendDivided(halves[0], send, taken);
  if (first.kind === "retry") return first;
  const second = await sendDivided(halves[1], send, taken);
  return second.kind === "taken" ? first : second;
}

/** Undefined where a body cannot be divided: a single record, or OTLP in JSON. */
async function halveBody(whole: OutgoingBody): Promise<[OutgoingBody, OutgoingBody] | undefined> {
  const halve = { [jsonLinesType]: halveLines, [protobufType]: halveProtobuf }[whole.contentType];
  if (halve === undefined) return undefined;
  const halves = halve(unpack(whole.body, whole.contentEncoding as Encoding, ingestUnpackedBytesMax));
  return halves && [await pack(whole, halves[0], 0), await pack(whole, halves[1], 1)];
}

async function pack(whole: OutgoingBody, part: Uint8Array, index: number): Promise<OutgoingBody> {
  const key = createHash("sha256").update(`${whole.key} ${index}`).digest("base64url");
  const isPacked = part.length >= packBytesMin;
  const body = isPacked ? await compress(part, packing) : part;
  return { ...whole, key, contentEncoding: isPacked ? "zstd" : "identity", body };
}

const newline = 0x0a;

/** Undefined for a single line. */
function halveLines(text: Uint8Array): [Uint8Array, Uint8Array] | undefined {
  const { buffer, byteOffset, length } = text;
  const bytes = Buffer.from(buffer, byteOffset, length);
  const after = bytes.indexOf(newline, length >> 1) + 1;
  const middle = after > 0 && after < length ? after : bytes.lastIndexOf(newline, length - 2) + 1;
  return middle === 0 || middle === length ? undefined : [bytes.subarray(0, middle), bytes.subarray(middle)];
}
