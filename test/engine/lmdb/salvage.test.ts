import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameKind, readFrameChecksum, writeFrame } from "../../../engine/files/frame.ts";
import { compressionOfLevel } from "../../../engine/files/zstd.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";
import { auditPageTree } from "../../../engine/lmdb/page-audit.ts";
import { rebuildEnvironment, salvageFrames } from "../../../engine/lmdb/salvage.ts";
import { scaled } from "../../durability/campaign.ts";
import { anyDamage, anyShape, buildEnvironment, copyEnvironment, damageFile } from "./random-environment.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-salvage-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function emptyPath(name: string): string {
  const path = join(dir, name);
  rmSync(path, { recursive: true, force: true });
  return path;
}

function frame(key: string, bytes: number, fill = 7): Buffer {
  return writeFrame(FrameKind.column, Buffer.from(key), Buffer.alloc(bytes, fill));
}

/** Copies each frame, because its bytes are valid only until the next one. */
function salvageAll(file: string): { offset: number; frame: Buffer }[] {
  return Array.from(salvageFrames(file), ({ offset, frame }) => ({ offset, frame: Buffer.from(frame) }));
}

describe("frames in a file", () => {
  test("are found at any offset, across windows and longer than one", () => {
    const mebibyte = 2 ** 20;
    const parts = [
      Buffer.alloc(13, "S"),
      frame("first", 10),
      Buffer.from("SVCSVCF"),
      Buffer.alloc(4 * mebibyte - 200, 1),
      frame("on the edge of a window", 1_000),
      frame("longer than a window", 9 * mebibyte),
      frame("right after it", 0),
      Buffer.alloc(3 * mebibyte, 2),
      frame("last", 5),
    ];
    const file = join(dir, "parts");
    writeFileSync(file, Buffer.concat(parts));
    const found = salvageAll(file);
    const expected = [1, 4, 5, 6, 8].map((i) => {
      return { offset: Buffer.concat(parts.slice(0, i)).length, frame: parts[i]! };
    });
    expect(found.map((part) => part.offset)).toEqual(expected.map((part) => part.offset));
    for (const [i, part] of found.entries()) expect(part.frame.equals(expected[i]!.frame)).toBe(true);
  });

  test("are found whatever their payload is compressed with", () => {
    const text = Buffer.from("all work and no play ".repeat(2_000));
    const [key, compression] = [Buffer.from("k"), compressionOfLevel(3)];
    const frames = [
      writeFrame(FrameKind.column, key, text),
      writeFrame(FrameKind.column, key, text, { compression }),
      writeFrame(FrameKind.column, key, text, { compression, cuts: [10_000, 30_000] }),
    ];
    const codecs = frames.map((each) => each[11]);
    expect(codecs).toEqual([0, 1, 2]);
    const file = join(dir, "codecs");
    writeFileSync(file, Buffer.concat(frames));
    expect(salvageAll(file).map((each) => each.frame[11])).toEqual(codecs);
  });

  test("are found at any distance from the edges of windows", () => {
    const window = 4 * 2 ** 20;
    fc.assert(
      fc.property(fc.integer({ min: -80, max: 8 }), fc.nat(300), (shift, bytes) => {
        const file = join(dir, "edge");
        const before = Buffer.alloc(window + shift, 3);
        writeFileSync(file, Buffer.concat([before, frame("k", bytes), Buffer.alloc(50)]));
        expect(salvageAll(file).map((part) => part.offset)).toEqual([window + shift]);
      }),
      { numRuns: 25 },
    );
  });

  test("that are damaged or cut off are skipped, and those after them are found", () => {
    const bytes = Buffer.concat([frame("a", 5_000), frame("b", 5_000), frame("c", 5_000)]);
    const length = bytes.length / 3;
    bytes[length + 200]! ^= 4;
    const file = join(dir, "cut");
    writeFileSync(file, bytes.subarray(0, bytes.length - 1));
    expect(salvageAll(file).map((part) => part.offset)).toEqual([0]);
    writeFileSync(file, bytes);
    expect(salvageAll(file).map((part) => part.offset)).toEqual([0, 2 * length]);
    expect(salvageAll(join(dir, "no such file"))).toEqual([]);
  });

  test("inside a stored value are not mistaken for values", () => {
    const inner = frame("inner", 100);
    const file = join(dir, "nested");
    writeFileSync(file, writeFrame(FrameKind.column, Buffer.from("outer"), Buffer.concat([inner, inner])));
    expect(salvageAll(file).map((part) => part.offset)).toEqual([0]);
  });
});

describe("a damaged environment", () => {
  test("yields every frame that the damage did not touch, and is rebuilt from them", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyShape,
        fc.array(anyDamage, { minLength: 1, maxLength: 4 }),
        async (shape, damages) => {
          const whole = emptyPath("whole");
          const stored = await buildEnvironment(whole, shape);
          const locations = auditPageTree(join(whole, "data.mdb")).entries;
          const damaged = emptyPath("damaged");
          const { bytes, end } = damageFile(copyEnvironment(whole, damaged), damages);
          const isTouched = ({ offset, length }: { offset: number; length: number }) =>
            offset + length > end || bytes.some((at) => at >= offset && at < offset + length);
          const touched = new Set(
            locations.filter(isTouched).map(({ key }) => Buffer.from(key).toString("hex")),
          );
          const wanted = new Map([...stored].map(([key, bytes]) => [key, readFrameChecksum(bytes)]));

          const { restored, missing } = await rebuildEnvironment(damaged, emptyPath("rebuilt"), wanted);

          // A copy that an earlier snapshot left elsewhere in the file may replace a damaged frame.
          for (const key of missing) expect(touched.has(key)).toBe(true);
          expect(restored + missing.length).toBe(stored.size);
          const rebuilt = openEnvironment(join(dir, "rebuilt"), { readOnly: true });
          expect(rebuilt.keys().length).toBe(restored);
          for (const [key, bytes] of stored) {
            const got = rebuilt.get(Buffer.from(key, "hex"));
            expect(got === undefined ? missing.includes(key) : bytes.equals(got)).toBe(true);
          }
          await rebuilt.close();
          expect(auditPageTree(join(dir, "rebuilt", "data.mdb")).problems).toEqual([]);
        },
      ),
      { numRuns: scaled(60, 2_000) },
    );
  });

  test("gives the wanted version, not an older one that is still in the file", async () => {
    const path = emptyPath("versions");
    const environment = openEnvironment(path, { readOnly: false });
    const versions = [1, 2, 3].map((fill) => frame("key", 6_000, fill));
    for (const version of versions) await environment.write((to) => to.put(Buffer.from("key"), version));
    await environment.write((to) => to.remove(Buffer.from("key")));
    await environment.close();
    for (const version of versions.slice(1)) {
      const wanted = new Map([[Buffer.from("key").toString("hex"), readFrameChecksum(version)]]);
      const result = await rebuildEnvironment(path, join(dir, "version"), wanted);
      expect(result).toEqual({ restored: 1, missing: [] });
      const rebuilt = openEnvironment(join(dir, "version"), { readOnly: true });
      expect(rebuilt.get(Buffer.from("key"))).toEqual(version);
      await rebuilt.close();
    }
  });

  test("without a file reports every frame as missing", async () => {
    mkdirSync(emptyPath("nothing"));
    const result = await rebuildEnvironment(join(dir, "nothing"), emptyPath("empty"), new Map([["00", 1]]));
    expect(result).toEqual({ restored: 0, missing: ["00"] });
    expect(readFileSync(join(dir, "empty", "data.mdb")).length).toBe(8_192);
  });
});
