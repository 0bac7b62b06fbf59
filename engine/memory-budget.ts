/**
 * Divides the memory that this process may take among all that holds memory. The table `parts` says what each part gets
 * and why; whoever opens a store passes a `MemoryBudget` on, so that there is one division for the whole process.
 */
import { availableParallelism } from "node:os";
import type { ChunkCaps } from "./chunk/chunk-caps.ts";
import { Failure } from "./failure.ts";
import {
  chunkMessageBytesMax,
  chunkRowsMax,
  chunkSamplesMax,
  columnCacheBytesMax,
  queryThreadTemplatesShare,
} from "./limits.ts";
import { readMemoryBytes } from "./threads/machine.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/**
 * What the process is for. A `server` does everything; a `load` stores rows and answers no questions; a `library` has no
 * bodies to decode, or decodes them beyond this division.
 */
export type MemoryUse = "server" | "load" | "library";

/** What holds memory. */
export type MemoryPart = keyof typeof parts;

/** What one part gets: `bytesMin`, and of what is left when all have that, its share, up to `bytesMax`. */
interface PartShare {
  bytesMin: number;
  /** Of what is left, by weight: the weights of all parts together are the whole. */
  weight: number;
  /** More than this is of no use; what is not taken stays free. Depends on the number of cores. */
  bytesMax: (cores: number) => number;
  /** The uses that have this part. */
  uses: readonly MemoryUse[];
}

/** Memory that a thread takes before it works: V8's heap with the program, and stacks. Measured: 15 to 20 MiB. */
const threadBytes = 20 * MiB;
/** What encoding a chunk takes beside that, for each row: columns, templates and variables, frames. Measured. */
const encodedRowBytes = 1_600;
const fullEncoderBytes = threadBytes + encodedRowBytes * chunkRowsMax;
/** The smallest full chunk. With fewer rows, headers and filters would be much of it. */
const fullChunkRowsMin = 16_384;
/**
 * Memory holds the messages of so many chunks, however long they are: a scan thread has those of some eight in its cache,
 * for queries that run at the same time and for what is made of them.
 */
const chunksInMemory = 50;
/** What a thread needs beside its own memory to decode bodies of usual size. */
const decoderBytes = 36 * MiB;
/** While a body is decoded it takes up to so many times its unpacked size. */
const decodedBodyFactor = 3;
/**
 * Memory of a decoding thread that makes a chunk of JSON lines, as a multiple of the lines' size. Measured: 5; 7 where
 * messages are long.
 */
const loadedBytesFactor = 7;
/** Heap that holds the objects of the largest body, of any format that is parsed as a whole. */
const decodeHeapBytesMax = 2 * GiB;
/** Heap with which a thread can load its program and work at all. */
const heapBytesMin = 96 * MiB;
/** What a query keeps beside columns exists so many times: on a thread and merged, or merged and as an answer. */
const queryCopies = 2;
/** Maximum of the memtable of a load: the chunks that are being encoded, and one that is being filled. */
const loadMemtableBytesMax = 96 * MiB;

const everyUse: readonly MemoryUse[] = ["server", "load", "library"];
const asking: readonly MemoryUse[] = ["server", "library"];
const taking: readonly MemoryUse[] = ["server", "load"];

const parts = {
  /**
   * The query thread's program and heap, and what V8 and the allocator keep of what nobody uses any more. Measured: 90 MiB
   * after a start, 150 while rows come in and searches run (`node bench/memory.ts`).
   */
  program: { bytesMin: 150 * MiB, weight: 2, bytesMax: () => 256 * MiB, uses: everyUse },
  /**
   * The scan threads and their decoded columns: the most, since queries are fast where columns stay decoded. A thread
   * needs room for the columns of one chunk that a query reads, some 50 MB for ordinary logs.
   */
  columns: { bytesMin: threadBytes + 64 * MiB, weight: 45, bytesMax: unbounded, uses: asking },
  /** Filters and templates of sealed chunks, and columns of small parts, on the query thread. */
  queryThread: { bytesMin: 10 * MiB, weight: 6, bytesMax: () => 5 * GiB, uses: asking },
  /** What queries keep beside columns: groups, points and rows found, on all threads and in answers. */
  queries: { bytesMin: 32 * MiB, weight: 12, bytesMax: () => 4 * GiB, uses: asking },
  /** Rows that are searchable and not sealed yet. With more, longer bursts come in faster than they are sealed. */
  memtable: { bytesMin: 16 * MiB, weight: 6, bytesMax: () => 256 * MiB, uses: everyUse },
  /** The maintenance thread and encoder threads. With the maximum, chunks have their full size and half of the cores encode. */
  encoding: {
    bytesMin: threadBytes + encodedRowBytes * fullChunkRowsMin,
    weight: 8,
    bytesMax: (cores) => fullEncoderBytes * (1 + Math.floor(cores / 2)),
    uses: everyUse,
  },
  /** The decoding threads. With the maximum, all of them work and one decodes the largest body of the costliest format. */
  decoding: {
    bytesMin: threadBytes + decoderBytes,
    weight: 14,
    bytesMax: (cores) => decodeHeapBytesMax + (threadBytes + decoderBytes) * (cores + 1),
    uses: taking,
  },
  /**
   * Bodies that come in or wait for a decoding thread, messages from sockets, and rows that wait for tails. With the maximum,
   * one sender has room for a body for each decoding thread and one more, each of them enough for a full chunk.
   */
  bodies: {
    bytesMin: 32 * MiB,
    weight: 6,
    bytesMax: (cores) => Math.max(1.25 * GiB, 6 * (cores + 1) * chunkMessageBytesMax),
    uses: taking,
  },
  /** Batches that wait for the disk. */
  journal: { bytesMin: 8 * MiB, weight: 1, bytesMax: () => 256 * MiB, uses: everyUse },
} satisfies Record<string, PartShare>;

const partNames = Object.keys(parts) as MemoryPart[];

/** The least memory that a process of any use runs with. */
export const memoryBytesMin = 440 * MiB;
/** What the process takes by default of a machine or a container: the rest is for pages of files and for others. */
const defaultShare = 1 / 2;
/** The most that messages from sockets, and rows that wait for tails, may each hold. */
const waitingBytesMax = 256 * MiB;

/** The division of a process's memory; sizes in bytes. */
export interface MemoryBudget {
  /** What the process may take in all. */
  bytes: number;
  /** What each part may hold: together at most `bytes`. 0 for parts that the use does not have. */
  parts: Readonly<Record<MemoryPart, number>>;
  scanThreads: number;
  /** Decoded columns of all scan threads together. */
  columnCacheBytes: number;
  queryThreadCacheBytes: number;
  /** What all queries together may keep beside columns, each copy counted once. */
  queryStateBytes: number;
  /** Heap of one scan thread. */
  scanHeapBytes: number;
  /** Parts in memory that start a seal, whatever their rows. */
  unsealedBytesMax: number;
  /** Parts in memory above which appends wait for the seal. */
  unsealedBytesStop: number;
  /** Encoder threads beside the maintenance thread. */
  encoderThreads: number;
  /** How large chunks become. */
  chunkCaps: ChunkCaps;
  journalQueueBytes: number;
  /** Decoding threads that one sender may use. */
  decodeThreads: number;
  /**
   * Decoding threads that one sender may use for bodies of pieces, of which they make chunks: the encoder threads have
   * nothing to do then.
   */
  pieceThreads: number;
  /** There is one decoding thread more where several senders send. */
  hasSpareDecodeThread: boolean;
  /** Heap of one decoding thread. */
  decodeHeapBytes: number;
  /** What is read for one chunk of rows, where chunks are made of pieces. */
  loadBytes: number;
  /** The largest body, unpacked. */
  unpackedBytesMax: number;
  /** Bodies of requests that come in or are processed. */
  requestBytes: number;
  /** Messages from sockets that are incomplete or wait. */
  socketBytes: number;
  /** Rows that wait for the readers of tails. */
  tailBytes: number;
}

/** What the division is made for. */
export interface MemoryRequest {
  use: MemoryUse;
  /** What the process may take; by default half of what the machine or the container gives. */
  bytes?: number | undefined;
  /** Cores that this process may use; by default those that there are. */
  cores?: number | undefined;
  /** Where the caller knows better: */
  scanThreads?: number | undefined;
  columnCacheBytes?: number | undefined;
  decodeThreads?: number | undefined;
}

/**
 * Divides memory. More memory never makes a part smaller. Throws Failure "input" where the memory is too little to run
 * with, or for what the request fixes.
 */
export function divideMemory(request: MemoryRequest): MemoryBudget {
  const { use, cores = availableParallelism() } = request;
  const fixed = findFixedColumns(request, cores);
  const bytes = request.bytes ?? Math.max(defaultMemoryBytes(readMemoryBytes()), sumLeast(use, fixed));
  if (bytes < memoryBytesMin)
    throw new Failure(
      "input",
      `${formatBytes(bytes)} of memory are too little: svc needs ${formatBytes(memoryBytesMin)}`,
    );
  if (bytes < sumLeast(use, fixed)) {
    const cache = formatBytes(request.columnCacheBytes!);
    const enough = `${Math.ceil(sumLeast(use, fixed) / MiB)} MiB`;
    const problem = `a column cache of ${cache} does not fit into ${formatBytes(bytes)} of memory`;
    throw new Failure("input", `${problem}: ${enough} would do`);
  }
  const divided = shareOut(bytes, use, cores, fixed);
  return { bytes, parts: divided, ...fillParts(divided, { ...request, bytes }, cores) };
}

/** Half of what is given; where that is too little to run with, what is needed, if it is given. */
export function defaultMemoryBytes(given: number): number {
  return Math.max(Math.floor(given * defaultShare), Math.min(given, memoryBytesMin));
}

/** One line for a person: the whole, and what each part gets of it. */
export function describeMemory({
  bytes,
  parts,
  scanThreads,
  encoderThreads,
  decodeThreads,
}: MemoryBudget): string {
  const named = partNames.filter((name) => parts[name] > 0);
  const list = named.map((name) => `${partTitles[name]} ${formatBytes(parts[name])}`).join(", ");
  const threads = `${scanThreads} scan, ${1 + encoderThreads} encoder, ${decodeThreads} decoder threads`;
  return `${formatBytes(bytes)}: ${list}; ${threads}`;
}

const partTitles: Readonly<Record<MemoryPart, string>> = {
  program: "program",
  columns: "columns",
  queryThread: "query thread",
  queries: "queries",
  memtable: "memtable",
  encoding: "encoding",
  decoding: "decoding",
  bodies: "bodies",
  journal: "journal",
};

/** The whole part of the scan threads, where the request fixes the size of their cache. */
function findFixedColumns(
  { use, columnCacheBytes, scanThreads }: MemoryRequest,
  cores: number,
): number | undefined {
  if (columnCacheBytes === undefined || use === "load") return undefined;
  return columnCacheBytes + (scanThreads ?? cores) * threadBytes;
}

function leastOf(name: MemoryPart, use: MemoryUse, fixedColumns: number | undefined): number {
  const { bytesMin, uses }: PartShare = parts[name];
  if (!uses.includes(use)) return 0;
  return name === "columns" && fixedColumns !== undefined ? fixedColumns : bytesMin;
}

function sumLeast(use: MemoryUse, fixedColumns: number | undefined): number {
  return partNames.reduce((sum, name) => sum + leastOf(name, use, fixedColumns), 0);
}

/** Gives each part its least, and its share of the rest. */
function shareOut(
  bytes: number,
  use: MemoryUse,
  cores: number,
  fixedColumns: number | undefined,
): Record<MemoryPart, number> {
  const rest = bytes - sumLeast(use, fixedColumns);
  const weights = partNames.reduce((sum, name) => sum + parts[name].weight, 0);
  const shares = partNames.map((name): [MemoryPart, number] => {
    const { weight, bytesMax }: PartShare = parts[name];
    const least = leastOf(name, use, fixedColumns);
    if (least === 0 || (name === "columns" && fixedColumns !== undefined)) return [name, least];
    const most = name === "memtable" && use === "load" ? loadMemtableBytesMax : bytesMax(cores);
    return [name, Math.floor(Math.max(least, Math.min(most, least + (rest * weight) / weights)))];
  });
  return Object.fromEntries(shares) as Record<MemoryPart, number>;
}

/** What the parts are worth in threads, caches and queues. */
function fillParts(
  divided: Readonly<Record<MemoryPart, number>>,
  request: MemoryRequest & { bytes: number },
  cores: number,
): Omit<MemoryBudget, "bytes" | "parts"> {
  const { columns, queryThread, queries, memtable, encoding, bodies, journal } = divided;
  const scanThreads = request.scanThreads ?? clamp(columns / (2 * parts.columns.bytesMin), 1, cores);
  const encoders = clamp(encoding / fullEncoderBytes, 1, 1 + Math.floor(cores / 2));
  const chunkCaps = findChunkCaps(encoding / encoders - threadBytes, request.bytes);
  const decoding = fillDecoding(divided.decoding, request, cores);
  return {
    scanThreads,
    columnCacheBytes: request.columnCacheBytes ?? Math.max(64 * MiB, columns - scanThreads * threadBytes),
    queryThreadCacheBytes: Math.min(queryThread / (1 + queryThreadTemplatesShare), columnCacheBytesMax),
    queryStateBytes: queries / queryCopies,
    scanHeapBytes: heapBytesMin + queries,
    unsealedBytesMax: memtable / 4,
    unsealedBytesStop: memtable,
    encoderThreads: encoders - 1,
    chunkCaps,
    journalQueueBytes: journal,
    ...decoding,
    loadBytes: findLoadBytes(divided, decoding.pieceThreads, chunkCaps),
    // The rest of the part is for buffers that are kept for the next bodies.
    requestBytes: 0.4 * bodies,
    socketBytes: Math.min(bodies / 4, waitingBytesMax),
    tailBytes: Math.min(bodies / 4, waitingBytesMax),
  };
}

/** A load has one sender; a server leaves half of the cores to queries. */
function fillDecoding(decoding: number, { use, decodeThreads: asked }: MemoryRequest, cores: number) {
  const affordable = clamp(decoding / (threadBytes + decoderBytes), 1, cores + 1);
  const spare = use === "server" && affordable > 1 ? 1 : 0;
  const most = use === "load" ? cores : Math.max(1, Math.floor(cores / 2));
  const decodeThreads = asked ?? Math.min(most, affordable - spare);
  const pieceThreads = asked ?? Math.max(decodeThreads, Math.min(cores, affordable - spare));
  const freeBytes = Math.max(decoderBytes, decoding - (decodeThreads + spare) * threadBytes);
  return {
    decodeThreads,
    pieceThreads,
    hasSpareDecodeThread: spare === 1,
    decodeHeapBytes: Math.min(decodeHeapBytesMax, Math.max(heapBytesMin, freeBytes)),
    unpackedBytesMax: clamp(freeBytes / decodedBodyFactor, 8 * MiB, 128 * MiB),
  };
}

/** As many bytes as usual rows of a full chunk have, where a decoding thread can hold what it makes of them. */
function findLoadBytes(
  { decoding, bodies }: Readonly<Record<MemoryPart, number>>,
  pieceThreads: number,
  { messageBytesMax }: ChunkCaps,
): number {
  const decoderRoom = decoding / Math.max(1, pieceThreads) - threadBytes;
  // One group is read while each thread decodes one.
  const bodyRoom = bodies / (pieceThreads + 2);
  return Math.max(MiB, Math.min(messageBytesMax, decoderRoom / loadedBytesFactor, bodyRoom));
}

/** Full chunks of a power of two of rows, as large as an encoder encodes with so much memory, of so much in all. */
function findChunkCaps(encoderBytes: number, processBytes: number): ChunkCaps {
  const rows = 2 ** Math.floor(Math.log2(encoderBytes / encodedRowBytes));
  const share = clamp(rows, fullChunkRowsMin, chunkRowsMax) / chunkRowsMax;
  return {
    rowsMax: chunkRowsMax * share,
    messageBytesMax: Math.min(chunkMessageBytesMax * share, processBytes / chunksInMemory),
    samplesMax: chunkSamplesMax * share,
  };
}

/** A whole number from `min` to `max`. */
function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, Math.floor(value)));
}

function unbounded(): number {
  return Number.POSITIVE_INFINITY;
}

function formatBytes(bytes: number): string {
  return bytes >= 10 * GiB ? `${Math.floor(bytes / GiB)} GiB` : `${Math.floor(bytes / MiB)} MiB`;
}
