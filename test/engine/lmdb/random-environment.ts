/** Random LMDB environments whose values are frames, what they should hold, and ways to damage their file. */
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { FrameKind, writeFrame } from "../../../engine/files/frame.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";

/** A change to the key of this number; `bytes` null removes it. */
export interface KeyChange {
  key: number;
  bytes: number | null;
}

/** A bit at a place between 0 and 1 of the file's bytes (or of its meta pages'), or the file's end at such a place. */
export interface FileDamage {
  kind: "any" | "meta" | "header" | "cut";
  place: number;
  bit: number;
}

export interface EnvironmentShape {
  /** Zeros before a key's number, to make keys of many lengths. */
  keyBytes: number;
  transactions: KeyChange[][];
}

const change = (keys: number, bytesMax: number): fc.Arbitrary<KeyChange> =>
  fc.record({
    key: fc.noBias(fc.nat(keys - 1)),
    bytes: fc.option(fc.noBias(fc.nat(bytesMax)), { freq: 3 }),
  });

/** Small and large trees, short and long keys, values inside the tree and on pages of their own. */
export const anyShape: fc.Arbitrary<EnvironmentShape> = fc
  .record({
    keyBytes: fc.constantFrom(3, 20, 200, 1_500),
    keys: fc.constantFrom(4, 40, 400),
    bytesMax: fc.constantFrom(20, 2_500, 20_000),
  })
  .chain(({ keyBytes, keys, bytesMax }) =>
    fc.record({
      keyBytes: fc.constant(keyBytes),
      transactions: fc.array(fc.array(change(keys, bytesMax), { maxLength: 200, size: "max" }), {
        minLength: 1,
        maxLength: 12,
        size: "max",
      }),
    }),
  );

export const anyDamage: fc.Arbitrary<FileDamage> = fc.record({
  kind: fc.constantFrom("any", "any", "meta", "header", "cut"),
  place: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  bit: fc.nat(7),
});

export function keyOf(shape: EnvironmentShape, key: number): Buffer {
  return Buffer.from(String(key).padStart(shape.keyBytes, "0"));
}

/** Writes the environment; what it must hold, frames by key in hexadecimal. `after` runs behind every commit. */
export async function buildEnvironment(
  dir: string,
  shape: EnvironmentShape,
  after: (held: Map<string, Buffer>) => void = () => undefined,
): Promise<Map<string, Buffer>> {
  const held = new Map<string, Buffer>();
  const environment = openEnvironment(dir, { readOnly: false });
  for (const [version, changes] of shape.transactions.entries()) {
    await environment.write((to) => {
      for (const { key: number, bytes } of changes) {
        const key = keyOf(shape, number);
        if (bytes === null) {
          to.remove(key);
          held.delete(key.toString("hex"));
        } else {
          const frame = writeFrame(FrameKind.column, key, Buffer.alloc(bytes, version + number));
          to.put(key, frame);
          held.set(key.toString("hex"), frame);
        }
      }
    });
    after(held);
  }
  await environment.close();
  return held;
}

/** A copy of the environment's data file in a folder of its own. */
export function copyEnvironment(from: string, to: string): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "data.mdb"), join(to, "data.mdb"));
  return join(to, "data.mdb");
}

/** Damages the file; the offsets of the bytes it changed, or from where it is cut. */
export function damageFile(file: string, damages: readonly FileDamage[]): { bytes: number[]; end: number } {
  const bytes: number[] = [];
  const fd = openSync(file, "r+");
  let end = statSync(file).size;
  for (const { kind, place, bit } of damages) {
    if (kind === "cut") {
      end = Math.min(end, Math.floor(place * end));
      continue;
    }
    const offset = placeOf(kind, place, statSync(file).size);
    const byte = Buffer.alloc(1);
    readSync(fd, byte, 0, 1, offset);
    byte[0] = byte[0]! ^ (1 << bit);
    writeSync(fd, byte, 0, 1, offset);
    bytes.push(offset);
  }
  closeSync(fd);
  truncateSync(file, end);
  return { bytes, end };
}

function placeOf(kind: "any" | "meta" | "header", place: number, fileBytes: number): number {
  if (kind === "any") return Math.floor(place * fileBytes);
  if (kind === "meta")
    return place < 0.5 ? Math.floor(place * 2 * 168) : 4096 + Math.floor((place - 0.5) * 2 * 168);
  const pages = fileBytes / 4096;
  const page = Math.floor(place * pages);
  return page * 4096 + Math.floor((place * pages - page) * 48);
}
