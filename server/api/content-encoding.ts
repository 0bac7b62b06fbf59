/** Decompresses request bodies: gzip, zstd or deflate, and snappy where a protocol prescribes it. */

import { gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import snappy from "snappyjs";
import { Refusal } from "../throttle/refusal.ts";
import { zstdFramesMax } from "./limits.ts";
import { ZstdFrames } from "./zstd-frame.ts";

const encodings = ["identity", "gzip", "zstd", "deflate"] as const;
export type Encoding = (typeof encodings)[number] | "snappy";

/** The encoding that Content-Encoding names. Throws Refusal 415 for an unknown one. */
export function encodingOf(headers: ReadonlyMap<string, string>): Encoding {
  const named = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const known = encodings.find((e) => e === (named === "x-gzip" ? "gzip" : named));
  if (known !== undefined) return known;
  throw new Refusal(
    415,
    `the Content-Encoding must be gzip, zstd or deflate, got ${JSON.stringify(named.slice(0, 60))}`,
    {
      headers: { "Accept-Encoding": "gzip, zstd, deflate" },
    },
  );
}

/**
 * Decompresses a body to at most `bytesMax` bytes: memory stays bounded whatever size the body claims.
 * Throws Refusal 413 beyond that, 400 where the body is not in that encoding or was cut short.
 */
export function unpack(body: Uint8Array, encoding: Encoding, bytesMax: number): Uint8Array {
  if (encoding === "identity") return body;
  try {
    if (encoding === "gzip") return gunzipSync(body, { maxOutputLength: bytesMax });
    if (encoding === "deflate") return inflateSync(body, { maxOutputLength: bytesMax });
    if (encoding === "snappy") return unpackSnappy(body, bytesMax);
    return unpackZstd(body, bytesMax);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(bytesMax);
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(400, `the body is not whole ${encoding}: ${reason}`);
  }
}

function unpackZstd(body: Uint8Array, bytesMax: number): Uint8Array {
  const frames = new ZstdFrames();
  const ends = frames.push(body);
  if (ends.length > zstdFramesMax)
    throw new Refusal(400, `the body has more than ${zstdFramesMax} zstd frames`);
  // After the last whole frame: a frame that was cut short, or bytes that are no frame.
  const framesEnd = ends.at(-1) ?? 0;
  const options = { maxOutputLength: bytesMax };
  if (framesEnd < body.length) zstdDecompressSync(body.subarray(framesEnd), options);
  if (!frames.complete) throw new Refusal(400, "the body is not whole zstd: unexpected end of file");
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const [i, end] of ends.entries()) {
    const part = zstdDecompressSync(body.subarray(ends[i - 1] ?? 0, end), options);
    parts.push(part);
    bytes += part.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** An element of three bytes encodes 64 bytes at most (https://github.com/google/snappy, "format_description.txt"). */
const snappyRatioMax = 22;

/**
 * Decodes one block, as Loki and Prometheus send it. The length at its beginning is checked before memory is allocated.
 */
function unpackSnappy(body: Uint8Array, bytesMax: number): Uint8Array {
  let bytes = 0;
  for (let i = 0; i < Math.min(body.length, 5); i++) {
    bytes += (body[i]! & 0x7f) * 2 ** (7 * i);
    if (body[i]! < 0x80) break;
  }
  if (bytes > bytesMax) throw tooLarge(bytesMax);
  if (bytes > body.length * snappyRatioMax) throw new Error("it claims to be larger than it can be");
  return snappy.uncompress(body);
}

function tooLarge(bytesMax: number): Refusal {
  return new Refusal(413, `the body unpacks to more than ${bytesMax} bytes: send it in smaller parts`);
}
