/** Bodies as they come over the wire: plain, gzip or zstd, and snappy where a protocol says so. */

import { gunzipSync, zstdDecompressSync } from "node:zlib";
import snappy from "snappyjs";
import { Refusal } from "../limits/refusal.ts";
import { zstdFramesMax } from "./limits.ts";
import { ZstdFrames } from "./zstd-frame.ts";

const encodings = ["identity", "gzip", "zstd"] as const;
export type Encoding = (typeof encodings)[number] | "snappy";

/** What Content-Encoding says. Throws Refusal 415 for one that is not known. */
export function encodingOf(headers: ReadonlyMap<string, string>): Encoding {
  const named = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const known = encodings.find((e) => e === (named === "x-gzip" ? "gzip" : named));
  if (known !== undefined) return known;
  throw new Refusal(
    415,
    `the Content-Encoding must be gzip or zstd, got ${JSON.stringify(named.slice(0, 60))}`,
    {
      headers: { "Accept-Encoding": "gzip, zstd" },
    },
  );
}

/**
 * The plain bytes, `bytesMax` at most: memory stays bounded whatever the body claims to unpack to.
 * Throws Refusal 413 beyond that, 400 where the body is not what it says or was cut short.
 */
export function unpack(body: Uint8Array, encoding: Encoding, bytesMax: number): Uint8Array {
  if (encoding === "identity") return body;
  try {
    if (encoding === "gzip") return gunzipSync(body, { maxOutputLength: bytesMax });
    if (encoding === "snappy") return unpackedSnappy(body, bytesMax);
    return unpackedZstd(body, bytesMax);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(bytesMax);
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(400, `the body is not whole ${encoding}: ${reason}`);
  }
}

function unpackedZstd(body: Uint8Array, bytesMax: number): Uint8Array {
  const frames = new ZstdFrames();
  const ends = frames.push(body);
  if (ends.length > zstdFramesMax)
    throw new Refusal(400, `the body has more than ${zstdFramesMax} zstd frames`);
  // Behind the last whole frame: what was cut short, or what is no frame at all.
  const behind = ends.at(-1) ?? 0;
  const options = { maxOutputLength: bytesMax };
  if (behind < body.length) zstdDecompressSync(body.subarray(behind), options);
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

/** An element of three bytes stands for 64 bytes at most (https://github.com/google/snappy, "format_description.txt"). */
const snappyRatioMax = 22;

/** One block, as Loki and Prometheus send it: the plain length comes first, and is not believed before it is checked. */
function unpackedSnappy(body: Uint8Array, bytesMax: number): Uint8Array {
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
