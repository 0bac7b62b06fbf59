#!/usr/bin/env node
/**
 * `node bench/kernels.ts`: the speed of the kernels over vectors larger than the caches, beside reading and copying the
 * same memory in the same rounds. A figure is the median of its rounds, in CPU time of the process, so that other
 * processes disturb it less.
 */
import { parseArgs } from "node:util";
import { Arena } from "../engine/kernels/arena.ts";
import { makeNeedle } from "../engine/kernels/needle.ts";
import type { CodeVector, Text } from "../engine/kernels/vectors.ts";
import { openKernels } from "../engine/kernels/wasm-kernels.ts";
import { generateRows } from "../fixtures/logs.ts";
import { Random } from "../fixtures/random.ts";
import { formatKernelFigure, type KernelFigure } from "./kernels/figure.ts";

const usage = `Usage: node bench/kernels.ts [--mb 256] [--rounds 9] [--only TEXT]
  --mb      MiB of the vector that each kernel reads
  --rounds  runs of each kernel
  --only    leaves out the kinds of vectors whose name holds none of these texts, between commas
`;

interface KernelCase {
  name: string;
  rows: number;
  /** Bytes that one run reads. */
  bytes: number;
  run: () => unknown;
}

/** A kind of vector. Its cases share the same memory, so they are made when its turn comes. */
interface VectorKind {
  name: string;
  subjects: () => KernelCase[];
}

const { values: options } = parseArgs({
  options: {
    mb: { type: "string", default: "256" },
    rounds: { type: "string", default: "9" },
    only: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});
const vectorBytes = Number(options.mb) * 2 ** 20;
const rounds = Number(options.rounds);
const seed = 1;

const arena = new Arena({ bytesMax: vectorBytes * 4 + 2 ** 26 });
const kernels = openKernels(arena);
const vector = allocateVector(vectorBytes);
const secondVector = allocateVector(vectorBytes);
const output = allocateVector(vectorBytes);
const counters = allocateVector(2 ** 20);
const heapBuffer = Buffer.allocUnsafeSlow(vectorBytes).fill(1);

function allocateVector(bytes: number): Uint8Array<SharedArrayBuffer> {
  const block = arena.allocate(bytes);
  if (block === undefined) throw new Error(`no room for ${bytes} bytes`);
  return block.uint8();
}

const asUint16 = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
const asUint32 = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
const asFloat64 = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 3);
/** The part of `output` that holds a bitmap of so many rows. */
const bitmapFor = (rows: number) => output.subarray(0, (rows + 7) >> 3);

/** Repeats the pattern until the vector is full. */
function fillRepeating(bytes: Uint8Array, pattern: Uint8Array): void {
  bytes.set(pattern.subarray(0, bytes.byteLength));
  for (let made = pattern.byteLength; made < bytes.byteLength; made *= 2) bytes.copyWithin(made, 0, made);
}

/** Fills with random codes, low ones most often, as the frequent names of logs have them. */
function fillCodes<T extends CodeVector<SharedArrayBuffer>>(codes: T, cardinality: number): T {
  const random = new Random(seed);
  const pattern = codes.slice(0, 2 ** 20);
  for (let row = 0; row < pattern.length; row++) {
    pattern[row] = Math.floor(cardinality ** (random.next() / 2 ** 32)) - 1;
  }
  fillRepeating(
    new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength),
    new Uint8Array(pattern.buffer, pattern.byteOffset, pattern.byteLength),
  );
  return codes;
}

function makeCodeCases(codes: CodeVector<SharedArrayBuffer>, cardinality: number): KernelCase[] {
  const rows = codes.length;
  const bytes = codes.byteLength;
  const found = bitmapFor(rows);
  const counts = asUint32(counters).subarray(0, cardinality);
  // Every third code is in the table, so that a range comparison could not replace it.
  const table = Uint8Array.from({ length: cardinality }, (_, code) => (code % 3 === 0 ? 1 : 0));
  const selection = secondVector.subarray(0, found.length);
  const random = new Random(seed);
  fillRepeating(
    selection,
    Uint8Array.from({ length: 2 ** 20 }, () => random.below(256) & random.below(256) & random.below(256)),
  );
  return [
    { name: "equal", rows, bytes, run: () => kernels.equalCodes(codes, 1, found) },
    { name: "between", rows, bytes, run: () => kernels.codesBetween(codes, 1, cardinality >> 1, found) },
    { name: "in a table", rows, bytes, run: () => kernels.codesInTable(codes, table, found) },
    { name: "count by code", rows, bytes, run: () => kernels.countGroups(codes, null, counts) },
    {
      name: "count by code, 1/8 selected",
      rows,
      bytes: bytes + rows / 8,
      run: () => kernels.countGroups(codes, selection, counts),
    },
  ];
}

function makeNumberCases(): KernelCase[] {
  const values = asFloat64(vector);
  const random = new Random(seed);
  const pattern = Float64Array.from({ length: 2 ** 17 }, () => random.below(2 ** 20));
  fillRepeating(vector, new Uint8Array(pattern.buffer));
  const rows = values.length;
  const { byteLength: bytes } = values;
  const groups = fillCodes(asUint16(secondVector).subarray(0, rows), 1000);
  const sums = asFloat64(counters).subarray(0, 1000);
  const range = { low: 1000, high: 500_000, lowOpen: false, highOpen: true };
  return [
    { name: "range", rows, bytes, run: () => kernels.numbersInRange(values, range, null, bitmapFor(rows)) },
    { name: "sum", rows, bytes, run: () => kernels.sum(values, null) },
    {
      name: "sum by 16-bit code",
      rows,
      bytes: bytes * 1.25,
      run: () => kernels.sumGroups(groups, values, null, sums),
    },
    {
      name: "greatest by 16-bit code",
      rows,
      bytes: bytes * 1.25,
      run: () => kernels.greatestOfGroups(groups, values, null, sums),
    },
    {
      name: "bucket numbers (writes 4 bytes a row)",
      rows,
      bytes,
      run: () => kernels.bucketsOf(values, 0, 60_000, asUint32(output).subarray(0, rows)),
    },
  ];
}

function makePairCases(): KernelCase[] {
  const rows = vectorBytes / 2;
  const a = fillCodes(vector.subarray(0, rows), 16);
  const b = fillCodes(vector.subarray(rows), 100);
  const groups = asUint16(output);
  return [
    {
      name: "group numbers of two (writes 2 bytes a row)",
      rows,
      bytes: 2 * rows,
      run: () => kernels.combineCodes(a, b, 100, groups.subarray(0, rows)),
    },
  ];
}

function makeIdCases(): KernelCase[] {
  const random = new Random(seed);
  const pattern = Uint8Array.from({ length: 2 ** 20 }, () => random.below(256));
  fillRepeating(vector, pattern);
  const subjects = [8, 16, 32].map((width) => {
    const rows = vectorBytes / width;
    // The id occurs nowhere: its last byte differs.
    const id = pattern.slice(0, width);
    id[width - 1] = id[width - 1]! ^ 1;
    return {
      name: `${width} bytes, equal`,
      rows,
      bytes: vectorBytes,
      run: () => kernels.equalIds(vector, id, bitmapFor(rows)),
    };
  });
  const id = new Uint8Array(16);
  const rows = vectorBytes / 16;
  return [
    ...subjects,
    { name: "16 bytes, first", rows, bytes: vectorBytes, run: () => kernels.findId(vector, id, 0) },
  ];
}

function makeBitmapCases(): KernelCase[] {
  const random = new Random(seed);
  fillRepeating(
    vector,
    Uint8Array.from({ length: 2 ** 20 }, () => random.below(256)),
  );
  secondVector.set(vector);
  const rows = vectorBytes * 8;
  const part = vector.subarray(0, vectorBytes >> 4);
  return [
    {
      name: "and (writes as many)",
      rows,
      bytes: 2 * vectorBytes,
      run: () => kernels.and(secondVector, vector),
    },
    { name: "count", rows, bytes: vectorBytes, run: () => kernels.countBits(vector) },
    {
      name: "rows of the set bits (writes 4 bytes each)",
      rows: rows / 16,
      bytes: vectorBytes >> 4,
      run: () => kernels.expand(part, 0, asUint32(output)),
    },
  ];
}

/**
 * Fills the vector with messages of generated logs, the same ones repeatedly, and `secondVector` with their offsets.
 */
function fillWithMessages(): Text<SharedArrayBuffer> {
  const lengths: number[] = [];
  const pattern: Buffer[] = [];
  let made = 0;
  for (const { message } of generateRows({ profile: "system", seed, rows: 100_000 })) {
    const bytes = Buffer.from(message);
    if (made + bytes.byteLength > vectorBytes) break;
    pattern.push(bytes);
    lengths.push(bytes.byteLength);
    made += bytes.byteLength;
  }
  const once = Buffer.concat(pattern);
  const offsets = asUint32(secondVector);
  let rows = 0;
  let at = 0;
  for (; at + once.byteLength <= vectorBytes; at += once.byteLength) {
    vector.set(once, at);
    let end = at;
    for (const length of lengths) {
      end += length;
      offsets[++rows] = end;
    }
  }
  return { bytes: vector, offsets: offsets.subarray(0, rows + 1) };
}

function makeTextCases(): KernelCase[] {
  const text = fillWithMessages();
  const rows = text.offsets.length - 1;
  const bytes = text.offsets[rows]! + 4 * rows;
  const hits = asUint32(output);
  const needles: [string, boolean][] = [
    ["zqxjkv", false],
    ["nowhere", false],
    ["NOWHERE", true],
    ["error", false],
    ["error", true],
    ["connection", false],
    ["12345", false],
    ["at", false],
    ["e", false],
  ];
  return needles.flatMap(([word, ignoreCase]) => {
    const needle = makeNeedle(Buffer.from(ignoreCase ? word.toLowerCase() : word), ignoreCase);
    const found = kernels.countHolding(text, needle);
    const name = `${ignoreCase ? `i"${word}"` : `"${word}"`} in ${((found / rows) * 100).toFixed(2)} % of rows`;
    return [
      { name: `rows, ${name}`, rows, bytes, run: () => kernels.rowsHolding(text, needle, bitmapFor(rows)) },
      {
        name: `hits, ${name}`,
        rows,
        bytes: text.offsets[rows]!,
        run: () => kernels.findHits(text.bytes, 0, text.offsets[rows]!, needle, hits),
      },
    ];
  });
}

const kinds: VectorKind[] = [
  { name: "text", subjects: makeTextCases },
  { name: "8-bit codes, 4 of them", subjects: () => makeCodeCases(fillCodes(vector, 4), 4) },
  { name: "8-bit codes, 12 of them", subjects: () => makeCodeCases(fillCodes(vector, 12), 12) },
  { name: "8-bit codes, 100 of them", subjects: () => makeCodeCases(fillCodes(vector, 100), 100) },
  {
    name: "16-bit codes, 1,000 of them",
    subjects: () => makeCodeCases(fillCodes(asUint16(vector), 1000), 1000),
  },
  {
    name: "32-bit codes, 1,000 of them",
    subjects: () => makeCodeCases(fillCodes(asUint32(vector), 1000), 1000),
  },
  { name: "numbers", subjects: makeNumberCases },
  { name: "pairs of 8-bit codes", subjects: makePairCases },
  { name: "ids", subjects: makeIdCases },
  { name: "bitmaps", subjects: makeBitmapCases },
];

function measureCpuSeconds(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function medianOf(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1]!;
}

function measureKind({ name, subjects }: VectorKind): KernelFigure {
  const listed = subjects();
  const memory: KernelCase[] = [
    {
      name: "memory: read",
      rows: vectorBytes / 4,
      bytes: vectorBytes,
      run: () => kernels.largestCode(asUint32(vector)),
    },
    {
      name: "memory: copy",
      rows: vectorBytes / 4,
      bytes: vectorBytes,
      run: () => Buffer.from(vector.buffer, vector.byteOffset, vectorBytes).copy(heapBuffer),
    },
  ];
  const all = [...memory, ...listed];
  const seconds = all.map((): number[] => []);
  // The first round is for the compiler and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { run }] of all.entries()) {
      const taken = measureCpuSeconds(run);
      if (round > 0) seconds[i]!.push(taken);
    }
  }
  const speeds = all.map(({ bytes }, i) => bytes / medianOf(seconds[i]!));
  return {
    kind: name,
    vectorBytes,
    subjects: all.map((subject, i) => ({
      name: subject.name,
      rowsPerSecond: subject.rows / medianOf(seconds[i]!),
      bytesPerSecond: speeds[i]!,
      ofRead: speeds[i]! / speeds[0]!,
    })),
  };
}

function measureAll(): void {
  const chosen = options.only.split(",");
  for (const kind of kinds) {
    if (!chosen.some((text) => kind.name.includes(text))) continue;
    const figure = measureKind(kind);
    if (process.send === undefined) process.stdout.write(formatKernelFigure(figure));
    else process.send(figure);
  }
}

if (options.help) process.stdout.write(usage);
else measureAll();
// The channel to the process that started this one would keep it alive.
process.disconnect?.();
