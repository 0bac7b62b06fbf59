/** Compresses answers for clients that take it: on the thread pool, and only where it pays. */

import { Readable } from "node:stream";
import { promisify } from "node:util";
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from "node:zlib";
import type { Reply } from "../api/route.ts";
import { compressedBytesMin } from "./limits.ts";

interface Codec {
  pack(bytes: Uint8Array): Promise<Buffer>;
  /** A stream that packs what is written to it. */
  stream(): NodeJS.ReadWriteStream;
}

/** The cheapest levels: an answer is read once. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const gzipOptions = { level: 1 };

/** In the order in which they are preferred. */
const codecs: ReadonlyMap<string, Codec> = new Map([
  [
    "zstd",
    {
      pack: (bytes: Uint8Array) => promisify(zstdCompress)(bytes, zstdOptions),
      stream: () => createZstdCompress(zstdOptions),
    },
  ],
  [
    "br",
    {
      pack: (bytes: Uint8Array) => promisify(brotliCompress)(bytes, brotliOptions),
      stream: () => createBrotliCompress(brotliOptions),
    },
  ],
  [
    "gzip",
    {
      pack: (bytes: Uint8Array) => promisify(gzip)(bytes, gzipOptions),
      stream: () => createGzip(gzipOptions),
    },
  ],
]);

/** Types of content that shrink. */
const compressible = /^(?:application\/(?:json|x-ndjson)|text\/)/;

/**
 * The answer in the best encoding that the client takes. Left as they are: short answers, those that are packed already
 * or never end, and those with an ETag, which names the bytes of one encoding.
 */
export async function compressReply(reply: Reply, acceptEncoding: string | undefined): Promise<Reply> {
  const { headers = {}, body, stream } = reply;
  const isText = compressible.test(headers["Content-Type"] ?? "");
  if (!isText || stream !== undefined || "Content-Encoding" in headers || "ETag" in headers) return reply;
  const vary = new Set(headers.Vary?.split(", ")).add("Accept-Encoding");
  const varied = { ...headers, Vary: [...vary].join(", ") };
  const name = chooseEncoding(acceptEncoding ?? "");
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const isShort = bytes instanceof Uint8Array && bytes.length < compressedBytesMin;
  if (name === undefined || isShort) return { ...reply, headers: varied };
  const codec = codecs.get(name)!;
  const packed = bytes instanceof Uint8Array ? await codec.pack(bytes) : packPieces(bytes, codec);
  return { ...reply, headers: { ...varied, "Content-Encoding": name }, body: packed };
}

/** The encoding of the highest weight that the server knows; of equal ones the one that it prefers. */
function chooseEncoding(accepted: string): string | undefined {
  const weights = new Map(
    accepted
      .toLowerCase()
      .split(",")
      .map((each): [string, number] => {
        const [name = "", ...parameters] = each.split(";").map((part) => part.trim());
        const quality = parameters.find((parameter) => parameter.startsWith("q="));
        return [name, quality === undefined ? 1 : Number(quality.slice(2))];
      }),
  );
  const weightOf = (name: string) => weights.get(name) ?? 0;
  const taken = [...codecs.keys()].filter((name) => weightOf(name) > 0);
  return taken.sort((a, b) => weightOf(b) - weightOf(a))[0];
}

async function* packPieces(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  codec: Codec,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(pieces, { objectMode: true });
  const packing = codec.stream();
  source.on("error", (error) => (packing as unknown as { destroy(error: Error): void }).destroy(error));
  source.pipe(packing);
  try {
    for await (const piece of packing as unknown as AsyncIterable<Uint8Array>) yield piece;
  } finally {
    // The reader may be gone: what is left is not made.
    source.destroy();
  }
}
