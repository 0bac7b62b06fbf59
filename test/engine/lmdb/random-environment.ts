/** Random LMDB environments whose values are frames, the values that they must hold, and damage to their files. */
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

/** A change to one key. `bytes` is the length of the new payload; null removes the key. */
export interface RandomChange {
  key: number;
  bytes: number | null;
}

/**
 * A flipped bit, or a new end of the file ("cut"). `position` is a fraction, from 0 to 1, of the file's bytes, of the
 * meta records ("meta"), or of the first 48 bytes of all pages ("header").
 */
export interface FileDamage {
  kind: "any" | "meta" | "header" | "cut";
  position: number;
  bit: number;
}

export interface EnvironmentShape {
  /** Length of the keys: their numbers are padded with zeros. */
  keyBytes: number;
  transactions: RandomChange[][];
}

const change = (keys: number, bytesMax: number): fc.Arbitrary<RandomChange> =>
  fc.record({
    key: fc.noBias(fc.nat(keys - 1)),
    bytes: fc.option(fc.noBias(fc.nat(bytesMax)), { freq: 3 }),
  });

/** Small and large trees, short and long keys, values in leaves and on overflow pages. */
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
  position: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  bit: fc.nat(7),
});

export function keyOf(shape: EnvironmentShape, key: number): Buffer {
  return Buffer.from(String(key).padStart(shape.keyBytes, "0"));
}

/**
 * Writes the environment; returns the frames that it must hold, by key in hexadecimal. Calls `after` after every
 * commit.
 */
export async function buildEnvironment(
  dir: string,
  shape: EnvironmentShape,
  after: (stored: Map<string, Buffer>) => void = () => undefined,
): Promise<Map<string, Buffer>> {
  const stored = new Map<string, Buffer>();
  const environment = openEnvironment(dir, { readOnly: false });
  for (const [version, changes] of shape.transactions.entries()) {
    await environment.write((to) => {
      for (const { key: number, bytes } of changes) {
        const key = keyOf(shape, number);
        if (bytes === null) {
          to.remove(key);
          stored.delete(key.toString("hex"));
        } else {
          const frame = writeFrame(FrameKind.column, key, Buffer.alloc(bytes, version + number));
          to.put(key, frame);
          stored.set(key.toString("hex"), frame);
        }
      }
    });
    after(stored);
  }
  await environment.close();
  return stored;
}

/** Copies the environment's data file to a new folder; returns the path of the copy. */
export function copyEnvironment(from: string, to: string): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "data.mdb"), join(to, "data.mdb"));
  return join(to, "data.mdb");
}

/** Damages the file; returns the offsets of the changed bytes and the new end of the file. */
export function damageFile(file: string, damages: readonly FileDamage[]): { bytes: number[]; end: number } {
  const bytes: number[] = [];
  const fd = openSync(file, "r+");
  let end = statSync(file).size;
  for (const { kind, position, bit } of damages) {
    if (kind === "cut") {
      end = Math.min(end, Math.floor(position * end));
      continue;
    }
    const offset = damageOffset(kind, position, statSync(file).size);
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

function damageOffset(kind: "any" | "meta" | "header", position: number, fileBytes: number): number {
  if (kind === "any") return Math.floor(position * fileBytes);
  if (kind === "meta")
    return position < 0.5 ? Math.floor(position * 2 * 168) : 4096 + Math.floor((position - 0.5) * 2 * 168);
  const pages = fileBytes / 4096;
  const page = Math.floor(position * pages);
  return page * 4096 + Math.floor((position * pages - page) * 48);
}
