/** Random faults of files in a data folder, as disks, cables and people cause them. */
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

/** Damages one file of the folder, of one of the kinds; returns a description for the message of a failed test. */
export function inflictFault(random: Random, dir: string, kinds: readonly RegExp[] = storeKinds): string {
  const path = pickFile(random, dir, kinds);
  const fault = random.pick(faults);
  return `${relative(dir, path)}: ${fault(random, path)}`;
}

/** Overwrites one random page of a data file with zeros; it may be a meta page. Returns a description. */
export function zeroPage(random: Random, dir: string): string {
  const files = filesOf(dir).filter((path) => path.endsWith("data.mdb"));
  const path = random.pick(files);
  return `${relative(dir, path)}: ${zeroRandomPage(random, path)}`;
}

type Fault = (random: Random, path: string) => string;

/** Flipped bits are the most frequent fault. */
const faults: readonly Fault[] = [
  flipBits,
  flipBits,
  flipBits,
  flipBits,
  flipTreeBit,
  flipTreeBit,
  writeNoise,
  truncate,
  truncate,
  truncateToZero,
  removeFile,
  zeroRandomPage,
  copyPageElsewhere,
];

function flipBits(random: Random, path: string): string {
  const count = random.oneIn(2) ? 1 : random.between(2, 8);
  const flipped: string[] = [];
  for (let i = 0; i < count; i++) {
    const offset = randomOffset(random, path);
    const bit = random.below(8);
    patch(path, offset, (byte) => byte ^ (1 << bit));
    flipped.push(`${offset}.${bit}`);
  }
  return `flipped ${flipped.join(" ")}`;
}

/** Flips a bit of a branch or leaf page, of which there are few beside large values; in other files any bit. */
function flipTreeBit(random: Random, path: string): string {
  const bytes = readFileSync(path);
  const pages: number[] = [];
  for (let start = 2 * pageBytes; path.endsWith(".mdb") && start < bytes.length; start += pageBytes)
    if (isTreePage(bytes, start)) pages.push(start);
  if (pages.length === 0) return flipBits(random, path);
  const offset = random.pick(pages) + random.below(pageBytes);
  const bit = random.below(8);
  patch(path, offset, (byte) => byte ^ (1 << bit));
  return `flipped ${offset}.${bit} of a tree page`;
}

/** Whether a page names its own number and is a branch (1) or a leaf (2). */
function isTreePage(bytes: Buffer, start: number): boolean {
  return (
    bytes.readBigUInt64LE(start) === BigInt(start / pageBytes) &&
    [1, 2].includes(bytes.readUInt16LE(start + 18))
  );
}

function writeNoise(random: Random, path: string): string {
  const offset = randomOffset(random, path);
  const length = random.between(1, 64);
  for (let i = 0; i < length; i++) patch(path, offset + i, () => random.below(256));
  return `noise in ${length} bytes from ${offset}`;
}

function truncate(random: Random, path: string): string {
  const length = random.oneIn(3)
    ? random.below(2 ** 21) % (statSync(path).size + 1)
    : randomOffset(random, path);
  truncateSync(path, length);
  return `cut to ${length} bytes`;
}

function truncateToZero(_random: Random, path: string): string {
  truncateSync(path, 0);
  return "emptied";
}

function removeFile(_random: Random, path: string): string {
  unlinkSync(path);
  return "removed";
}

function zeroRandomPage(random: Random, path: string): string {
  const offset = randomOffset(random, path);
  const start = offset - (offset % pageBytes);
  for (let i = 0; i < pageBytes; i++) patch(path, start + i, () => 0);
  return `zeros from ${start}`;
}

/** Writes a page over another one, as a misdirected write does. */
function copyPageElsewhere(random: Random, path: string): string {
  const from = randomOffset(random, path);
  const to = randomOffset(random, path);
  const page = readFileSync(path)
    .subarray(from - (from % pageBytes))
    .subarray(0, pageBytes);
  const start = to - (to % pageBytes);
  for (const [i, byte] of page.entries()) patch(path, start + i, () => byte);
  return `page at ${from - (from % pageBytes)} written to ${start}`;
}

/** Kinds of files by their names; where a kind stands twice, it is picked twice as often. */
export const storeKinds: readonly RegExp[] = [
  /data\.mdb$/,
  /data\.mdb$/,
  /data\.mdb$/,
  /manifest/,
  /\.log$/,
  /\.log$/,
  /./,
];

/** Picks the kind of file first, because some kinds have many files. */
function pickFile(random: Random, dir: string, kinds: readonly RegExp[]): string {
  const files = filesOf(dir);
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

/** A random offset, mostly in the written part of the file, and often in a page's header and pointers. */
function randomOffset(random: Random, path: string): number {
  const end = random.oneIn(12) ? statSync(path).size : writtenBytes(path);
  const offset = random.between(0, Math.max(end - 1, 0));
  if (!random.oneIn(3)) return offset;
  return Math.min(offset - (offset % pageBytes) + random.below(128), Math.max(end - 1, 0));
}

/** Length of the file without the zeros at its end. */
function writtenBytes(path: string): number {
  const bytes = readFileSync(path);
  let end = bytes.byteLength;
  // Journal segments are mostly holes, 64 MiB long; zeros are skipped in blocks.
  const block = Buffer.alloc(65_536);
  while (end >= block.byteLength && bytes.subarray(end - block.byteLength, end).equals(block))
    end -= block.byteLength;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

/**
 * Changes one byte of the file in place, because a process may have it open. Beyond the end of the file it does
 * nothing.
 */
function patch(path: string, offset: number, change: (byte: number) => number): void {
  if (offset >= statSync(path).size) return;
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, offset);
  byte[0] = change(byte[0]!);
  writeSync(file, byte, 0, 1, offset);
  closeSync(file);
}
