/**
 * Which chunks of a store are whole after damage. It reads the files as FORMAT.md describes them, without the engine:
 * every copy of a chunk's frames in its partition's file, and the rows that the manifest counts.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { crc32 } from "node:zlib";

const frameMagic = Buffer.from("SVCF");
const frameHeaderBytes = 24;
/** Kinds and codecs of frames. */
const columnKind = 1;
const headerKind = 2;
const blocksCodec = 2;

interface Range {
  start: number;
  end: number;
}

interface StoredChunk {
  rows: number;
  /** Where its frames lie in the data file. */
  ranges: Range[];
}

interface Partition {
  /** Path of its data file, relative to the data folder. */
  file: string;
  bytes: Buffer;
  chunks: StoredChunk[];
  /** True where a column of a chunk is compressed in blocks. */
  hasBlocks: boolean;
}

/** The chunks of a store before it is damaged. */
export class StoredChunks {
  readonly #partitions: Partition[];

  constructor(dir: string) {
    const files = readdirSync(dir, { recursive: true, encoding: "utf8" });
    const manifests = files.filter((file) => file.endsWith("/manifest"));
    this.#partitions = manifests.map((manifest) => readPartition(dir, manifest));
  }

  get rows(): number {
    return this.countRows("");
  }

  /** Rows of the partitions in a folder of the data folder, such as `logs/`. */
  countRows(folder: string): number {
    const inFolder = this.#partitions.filter(({ file }) => file.startsWith(folder));
    return sumRows(inFolder.flatMap(({ chunks }) => chunks));
  }

  /** Bytes of the data files in such a folder. */
  countBytes(folder: string): number {
    const inFolder = this.#partitions.filter(({ file }) => file.startsWith(folder));
    return inFolder.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  get hasBlocks(): boolean {
    return this.#partitions.some(({ hasBlocks }) => hasBlocks);
  }

  /** Rows of the chunks that are whole in a damaged copy of the store. */
  countWholeRows(damagedDir: string): number {
    return this.#partitions.reduce((sum, partition) => sum + sumRows(findWhole(partition, damagedDir)), 0);
  }

  /** Data files, by their paths in the data folder, of which a chunk is not whole in a damaged copy of the store. */
  findTouchedFiles(damagedDir: string): string[] {
    const touched = this.#partitions.filter(
      (partition) => findWhole(partition, damagedDir).length < partition.chunks.length,
    );
    return touched.map(({ file }) => file);
  }
}

/** The chunks all of whose frames are in the damaged copy as they were. */
function findWhole({ file, bytes, chunks }: Partition, damagedDir: string): StoredChunk[] {
  const path = join(damagedDir, file);
  if (!existsSync(path)) return [];
  const damaged = readFileSync(path);
  const isUntouched = ({ start, end }: Range) =>
    damaged.length >= end && bytes.compare(damaged, start, end, start, end) === 0;
  return chunks.filter(({ ranges }) => ranges.every(isUntouched));
}

function sumRows(chunks: readonly StoredChunk[]): number {
  return chunks.reduce((sum, { rows }) => sum + rows, 0);
}

function readPartition(dir: string, manifest: string): Partition {
  const path = join(dir, dirname(manifest), "data.mdb");
  const json = readFileSync(join(dir, manifest), "utf8").split("\n")[0]!;
  const entries = (JSON.parse(json) as { chunks: { id: number; rows: number }[] }).chunks;
  const chunks = new Map(entries.map(({ id, rows }) => [id, { rows, ranges: [] as Range[] }]));
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  let hasBlocks = false;
  for (const range of findFrames(bytes)) {
    const { start } = range;
    const chunk = chunks.get(bytes.readUInt32BE(start + frameHeaderBytes));
    if (chunk === undefined) continue;
    chunk.ranges.push(range);
    hasBlocks ||= bytes[start + 11] === blocksCodec;
  }
  for (const [id, { ranges }] of chunks)
    if (ranges.length === 0) throw new Error(`${path}: chunk ${id} has no frames`);
  return { file: relative(dir, path), bytes, chunks: [...chunks.values()], hasBlocks };
}

/** Finds the frames of chunks whose checksum is right, in the tree or in free pages. */
function* findFrames(bytes: Buffer): Iterable<Range> {
  let start = bytes.indexOf(frameMagic);
  while (start >= 0) {
    const end = frameEnd(bytes, start);
    if (end !== undefined) yield { start, end };
    start = bytes.indexOf(frameMagic, end ?? start + 1);
  }
}

function frameEnd(bytes: Buffer, start: number): number | undefined {
  if (start + frameHeaderBytes > bytes.length) return undefined;
  if (![columnKind, headerKind].includes(bytes[start + 10]!)) return undefined;
  const keyBytes = Math.ceil(bytes.readUInt16LE(start + 8) / 8) * 8;
  const end = start + frameHeaderBytes + keyBytes + bytes.readUInt32LE(start + 12);
  if (end > bytes.length) return undefined;
  return crc32(bytes.subarray(start + 8, end)) === bytes.readUInt32LE(start + 4) ? end : undefined;
}
