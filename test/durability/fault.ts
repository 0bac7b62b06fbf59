/** What disks, cables and people do to the files of a data folder. */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { Random } from "../../fixtures/random.ts";

const pageBytes = 4096;

/** Damages one file of the folder; returns what was done, for the message of a failure. */
export function inflict(random: Random, dir: string): string {
  const path = pickFile(random, dir);
  const fault = random.pick(faults);
  return `${relative(dir, path)}: ${fault(random, path)}`;
}

/** Makes one page of one partition's data file zeros, the two that lead to the trees among them. */
export function zeroPage(random: Random, dir: string): string {
  const files = filesOf(dir).filter((path) => path.endsWith("data.mdb"));
  const path = random.pick(files);
  return `${relative(dir, path)}: ${zeros(random, path)}`;
}

type Fault = (random: Random, path: string) => string;

/** Flips of bits are the commonest, as in life. */
const faults: readonly Fault[] = [
  flips,
  flips,
  flips,
  flips,
  noise,
  cut,
  cut,
  empty,
  removal,
  zeros,
  strayPage,
];

function flips(random: Random, path: string): string {
  const count = random.oneIn(2) ? 1 : random.between(2, 8);
  const places: string[] = [];
  for (let i = 0; i < count; i++) {
    const offset = placeIn(random, path);
    const bit = random.below(8);
    patch(path, offset, (byte) => byte ^ (1 << bit));
    places.push(`${offset}.${bit}`);
  }
  return `flipped ${places.join(" ")}`;
}

function noise(random: Random, path: string): string {
  const offset = placeIn(random, path);
  const length = random.between(1, 64);
  for (let i = 0; i < length; i++) patch(path, offset + i, () => random.below(256));
  return `noise in ${length} bytes from ${offset}`;
}

function cut(random: Random, path: string): string {
  const length = random.oneIn(3) ? random.below(2 ** 21) % (statSync(path).size + 1) : placeIn(random, path);
  truncateSync(path, length);
  return `cut to ${length} bytes`;
}

function empty(_random: Random, path: string): string {
  truncateSync(path, 0);
  return "emptied";
}

function removal(_random: Random, path: string): string {
  unlinkSync(path);
  return "removed";
}

function zeros(random: Random, path: string): string {
  const offset = placeIn(random, path);
  const start = offset - (offset % pageBytes);
  for (let i = 0; i < pageBytes; i++) patch(path, start + i, () => 0);
  return `zeros from ${start}`;
}

/** A page that was written to another page's place. */
function strayPage(random: Random, path: string): string {
  const from = placeIn(random, path);
  const to = placeIn(random, path);
  const page = readFileSync(path)
    .subarray(from - (from % pageBytes))
    .subarray(0, pageBytes);
  const start = to - (to % pageBytes);
  for (const [i, byte] of page.entries()) patch(path, start + i, () => byte);
  return `page at ${from - (from % pageBytes)} written to ${start}`;
}

/** Files of every kind come up alike, though some kinds have many files. */
function pickFile(random: Random, dir: string): string {
  const files = filesOf(dir);
  const kinds: readonly RegExp[] = [
    /data\.mdb$/,
    /data\.mdb$/,
    /data\.mdb$/,
    /manifest/,
    /\.log$/,
    /\.log$/,
    /./,
  ];
  const kind = random.pick(kinds);
  const candidates = files.filter((path) => kind.test(path));
  return random.pick(candidates.length > 0 ? candidates : files);
}

function filesOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Mostly where something is written, and often at the head of a page, where the trees have their pointers. */
function placeIn(random: Random, path: string): number {
  const end = random.oneIn(12) ? statSync(path).size : writtenBytes(path);
  const offset = random.between(0, Math.max(end - 1, 0));
  if (!random.oneIn(3)) return offset;
  return Math.min(offset - (offset % pageBytes) + random.below(128), Math.max(end - 1, 0));
}

/** Bytes up to the last that is not zero. */
function writtenBytes(path: string): number {
  const bytes = readFileSync(path);
  let end = bytes.byteLength;
  // Journal segments are 64 MiB of holes; whole blocks are skipped at once.
  const block = Buffer.alloc(65_536);
  while (end >= block.byteLength && bytes.subarray(end - block.byteLength, end).equals(block))
    end -= block.byteLength;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

/** Changes one byte in place, of the same file that a process may have open; nothing behind its end. */
function patch(path: string, offset: number, change: (byte: number) => number): void {
  if (offset >= statSync(path).size) return;
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, offset);
  byte[0] = change(byte[0]!);
  writeSync(file, byte, 0, 1, offset);
  closeSync(file);
}
