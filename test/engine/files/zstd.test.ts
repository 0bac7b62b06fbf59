/** Frames of contexts that are kept, against the calls of Node that make a context for each frame. */
import { constants as zlibConstants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Compression, compress, compressionOfLevel, decompress } from "../../../engine/files/zstd.ts";
import { isWholeFrame } from "../../../engine/files/zstd-context.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

const compressions: Compression[] = [
  compressionOfLevel(1),
  compressionOfLevel(9),
  { ...compressionOfLevel(2), [zlibConstants.ZSTD_c_windowLog]: 22 },
];

/** Bytes of a small or large alphabet; now and then more of them than zstd has in a block. */
function drawPayload(random: Random): Buffer {
  const length = 2 + random.below(random.oneIn(8) ? 500_000 : 5_000);
  const distinct = 1 + random.below(256);
  const payload = Buffer.alloc(length);
  for (let i = 0; i < length; i++) payload[i] = random.below(distinct);
  return payload;
}

/** By a context for this frame, with room for all of it: a frame that is written in pieces may have other bytes. */
function compressAlone(payload: Buffer, compression: Compression): Buffer {
  const chunkSize = payload.byteLength + (payload.byteLength >> 8) + 64;
  return zstdCompressSync(payload, { params: compression, chunkSize });
}

/** A frame that ends early, or of which a bit changed. zstd notices some of them only. */
function spoil(random: Random, frame: Uint8Array): Uint8Array {
  const spoiled = Buffer.from(frame);
  if (random.oneIn(2)) return spoiled.subarray(0, random.below(frame.byteLength));
  spoiled[random.below(frame.byteLength)]! ^= 1 << random.below(8);
  return spoiled;
}

function bytesOrError(make: () => Uint8Array): Buffer | string {
  try {
    return Buffer.from(make());
  } catch {
    return "an error";
  }
}

describe(`frames of zstd (SVC_SEED=${seed})`, () => {
  test("are those of a context that is made for them alone", () => {
    const random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const payload = drawPayload(random);
      const compression = compressions[random.below(compressions.length)]!;
      const frame = compress(payload, compression);
      expect(Buffer.compare(frame, compressAlone(payload, compression))).toBe(0);
      expect(Buffer.compare(decompress(frame, payload.byteLength), payload)).toBe(0);
    }
  });

  test("keep their bytes when others are compressed and decompressed", () => {
    const random = new Random(seed);
    const payloads = Array.from({ length: 40 }, () => drawPayload(random));
    const frames = payloads.map((payload) => compress(payload, compressions[2]!));
    const read = frames.map((frame, i) => decompress(frame, payloads[i]!.byteLength));
    for (const [i, payload] of payloads.entries()) {
      expect(Buffer.compare(read[i]!, payload)).toBe(0);
      expect(Buffer.compare(zstdDecompressSync(frames[i]!), payload)).toBe(0);
    }
  });

  test("that are damaged or have another length leave the next ones as they are", () => {
    const random = new Random(seed);
    let damaged = 0;
    for (let round = 0; round < 300; round++) {
      const payload = drawPayload(random);
      const length = payload.byteLength;
      const frame = zstdCompressSync(payload, { params: compressions[0]! });
      const spoiled = spoil(random, frame);
      const expected = bytesOrError(() => zstdDecompressSync(spoiled, { maxOutputLength: length }));
      const got = bytesOrError(() => decompress(spoiled, length));
      expect(got).toEqual(expected);
      if (!payload.equals(Buffer.from(got))) damaged++;
      expect(() => decompress(frame, 1 + random.below(length - 1))).toThrow(RangeError);
      expect(Buffer.compare(decompress(frame, length + random.below(100)), payload)).toBe(0);
      expect(Buffer.compare(decompress(frame, length), payload)).toBe(0);
    }
    expect(damaged).toBeGreaterThan(100);
  });
});

/** Little-endian, as in headers of blocks. */
function threeBytes(value: number): Buffer {
  return Buffer.from([value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff]);
}

/**
 * A frame that does not end, though its payload of `payloadBytes` is complete: a second block is announced, whose literals
 * would begin with `filled` bytes that are there and go on with the `missing` bytes of the frame after.
 */
function makeEndless(payloadBytes: number, filled: number, missing: number): Buffer {
  const [stored, compressed] = [0, 2];
  const literalsHead = threeBytes(((filled + missing - 1) << 4) | (3 << 2));
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]),
    threeBytes((payloadBytes << 3) | (stored << 1)),
    Buffer.alloc(payloadBytes, "a"),
    threeBytes(((literalsHead.length + filled + missing) << 3) | (compressed << 1)),
    literalsHead,
    Buffer.alloc(filled, "x"),
  ]);
}

test("a frame that does not end does not take the next frame for its rest", () => {
  let takesAll = 0;
  for (let seed = 0; seed < 50; seed++) {
    const random = new Random(seed);
    const payload = Buffer.from(Array.from({ length: 20_000 + seed }, () => 65 + random.below(20)));
    const frame = compress(payload, compressions[2]!);
    // Its last byte would then be the empty list of sequences.
    if (frame.at(-1) === 0) takesAll++;
    decompress(makeEndless(100, payload.length - frame.length + 1, frame.length), 100);
    expect(Buffer.compare(decompress(frame, payload.length), payload)).toBe(0);
  }
  expect(takesAll).toBeGreaterThan(10);
});

test(`frames are told from parts of them (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  const withChecksum = { [zlibConstants.ZSTD_c_checksumFlag]: 1 };
  const withoutSize = { [zlibConstants.ZSTD_c_contentSizeFlag]: 0 };
  for (let round = 0; round < 200; round++) {
    const payload = drawPayload(random);
    const params = random.pick([...compressions, withChecksum, withoutSize]);
    const frame = zstdCompressSync(payload, { params });
    expect(isWholeFrame(frame)).toBe(true);
    expect(isWholeFrame(Buffer.concat([frame, frame]))).toBe(false);
    for (let i = 0; i < 20; i++)
      expect(isWholeFrame(frame.subarray(0, random.below(frame.length)))).toBe(false);
  }
});

describe("a version of Node whose streams have no handle", () => {
  afterEach(() => {
    vi.doUnmock("node:zlib");
    vi.resetModules();
  });

  test("compresses and decompresses with a context for each frame", async () => {
    vi.resetModules();
    vi.doMock("node:zlib", async (importOriginal) => ({
      ...(await importOriginal<typeof import("node:zlib")>()),
      createZstdCompress: () => ({}),
      createZstdDecompress: () => ({}),
    }));
    const other = await import("../../../engine/files/zstd.ts");
    const random = new Random(seed);
    for (let round = 0; round < 20; round++) {
      const payload = drawPayload(random);
      const frame = other.compress(payload, compressions[0]!);
      expect(Buffer.compare(frame, compress(payload, compressions[0]!))).toBe(0);
      expect(Buffer.compare(other.decompress(frame, payload.byteLength), payload)).toBe(0);
      const ask = () => expect.fail("nothing can be decompressed to memory that is given");
      expect(Buffer.compare(other.decompress(frame, payload.byteLength, ask), payload)).toBe(0);
    }
  });
});
