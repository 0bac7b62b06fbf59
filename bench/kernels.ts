#!/usr/bin/env node
/**
 * Speed of the kernels over vectors larger than the caches, beside what the memory gives in the same rounds. A figure is the
 * median of its rounds, in CPU time of the process, for others may have their turn on the machine meanwhile.
 */
import { parseArgs } from "node:util";
import { Arena } from "../engine/kernels/arena.ts";
import type { CodeVector, Text } from "../engine/kernels/contract.ts";
import { needleOf } from "../engine/kernels/needle.ts";
import { openKernels } from "../engine/kernels/wasm-kernels.ts";
import { generateRows } from "../fixtures/logs.ts";
import { Random } from "../fixtures/random.ts";

const usage = `Usage: node bench/kernels.ts [--mb 256] [--rounds 9] [--only TEXT]
  --mb      MiB of the vector that each kernel reads
  --rounds  runs of each kernel
  --only    leaves out the kinds of vectors whose name holds none of these texts, between commas
`;

/** What was measured of one kind of vector; sent to the process that started this one. */
export interface KernelFigure {
  kind: string;
  vectorBytes: number;
  subjects: {
    name: string;
    rowsPerSecond: number;
    bytesPerSecond: number;
    /** Share of the speed at which the same memory is read in the same rounds. */
    ofRead: number;
  }[];
}

interface Subject {
  name: string;
  rows: number;
  /** Bytes that one run reads. */
  bytes: number;
  run: () => unknown;
}

/** A kind of vector, made when its turn comes. */
interface Kind {
  name: string;
  subjects: () => Subject[];
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
const vector = room(vectorBytes);
const besides = room(vectorBytes);
const out = room(vectorBytes);
const small = room(2 ** 20);
const outside = Buffer.allocUnsafeSlow(vectorBytes).fill(1);

function room(bytes: number): Uint8Array<SharedArrayBuffer> {
  const block = arena.allocate(bytes);
  if (block === undefined) throw new Error(`no room for ${bytes} bytes`);
  return block.uint8();
}

const shorts = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
const words = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
const doubles = (bytes: Uint8Array<SharedArrayBuffer>) =>
  new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 3);
/** As many bytes as a bitmap of that many rows has. */
const bitmap = (rows: number) => out.subarray(0, (rows + 7) >> 3);

/** A mebibyte of values, over and over. */
function fill(bytes: Uint8Array, some: Uint8Array): void {
  bytes.set(some.subarray(0, bytes.byteLength));
  for (let made = some.byteLength; made < bytes.byteLength; made *= 2) bytes.copyWithin(made, 0, made);
}

/** Codes of which the first come most often, as names do in logs. */
function fillCodes<T extends CodeVector<SharedArrayBuffer>>(codes: T, cardinality: number): T {
  const random = new Random(seed);
  const some = codes.slice(0, 2 ** 20);
  for (let row = 0; row < some.length; row++) {
    some[row] = Math.floor(cardinality ** (random.next() / 2 ** 32)) - 1;
  }
  fill(
    new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength),
    new Uint8Array(some.buffer, some.byteOffset, some.byteLength),
  );
  return codes;
}

function codeSubjects(codes: CodeVector<SharedArrayBuffer>, cardinality: number): Subject[] {
  const rows = codes.length;
  const bytes = codes.byteLength;
  const found = bitmap(rows);
  const counts = words(small).subarray(0, cardinality);
  // Every third code is in the table, so that it is no run of them.
  const table = Uint8Array.from({ length: cardinality }, (_, code) => (code % 3 === 0 ? 1 : 0));
  const selection = besides.subarray(0, found.length);
  const random = new Random(seed);
  fill(
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

function numberSubjects(): Subject[] {
  const values = doubles(vector);
  const random = new Random(seed);
  const some = Float64Array.from({ length: 2 ** 17 }, () => random.below(2 ** 20));
  fill(vector, new Uint8Array(some.buffer));
  const rows = values.length;
  const { byteLength: bytes } = values;
  const groups = fillCodes(shorts(besides).subarray(0, rows), 1000);
  const sums = doubles(small).subarray(0, 1000);
  const range = { low: 1000, high: 500_000, lowOpen: false, highOpen: true };
  return [
    { name: "range", rows, bytes, run: () => kernels.numbersInRange(values, range, null, bitmap(rows)) },
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
      run: () => kernels.bucketsOf(values, 0, 60_000, words(out).subarray(0, rows)),
    },
  ];
}

function pairSubjects(): Subject[] {
  const rows = vectorBytes / 2;
  const a = fillCodes(vector.subarray(0, rows), 16);
  const b = fillCodes(vector.subarray(rows), 100);
  const groups = shorts(out);
  return [
    {
      name: "group numbers of two (writes 2 bytes a row)",
      rows,
      bytes: 2 * rows,
      run: () => kernels.combineCodes(a, b, 100, groups.subarray(0, rows)),
    },
  ];
}

function idSubjects(): Subject[] {
  const random = new Random(seed);
  const some = Uint8Array.from({ length: 2 ** 20 }, () => random.below(256));
  fill(vector, some);
  const subjects = [8, 16, 32].map((width) => {
    const rows = vectorBytes / width;
    // Stands nowhere: its last byte is another one.
    const id = some.slice(0, width);
    id[width - 1] = id[width - 1]! ^ 1;
    return {
      name: `${width} bytes, equal`,
      rows,
      bytes: vectorBytes,
      run: () => kernels.equalIds(vector, id, bitmap(rows)),
    };
  });
  const id = new Uint8Array(16);
  const rows = vectorBytes / 16;
  return [
    ...subjects,
    { name: "16 bytes, first", rows, bytes: vectorBytes, run: () => kernels.findId(vector, id, 0) },
  ];
}

function bitmapSubjects(): Subject[] {
  const random = new Random(seed);
  fill(
    vector,
    Uint8Array.from({ length: 2 ** 20 }, () => random.below(256)),
  );
  besides.set(vector);
  const rows = vectorBytes * 8;
  const part = vector.subarray(0, vectorBytes >> 4);
  return [
    { name: "and (writes as many)", rows, bytes: 2 * vectorBytes, run: () => kernels.and(besides, vector) },
    { name: "count", rows, bytes: vectorBytes, run: () => kernels.countBits(vector) },
    {
      name: "rows of the set bits (writes 4 bytes each)",
      rows: rows / 16,
      bytes: vectorBytes >> 4,
      run: () => kernels.expand(part, 0, words(out)),
    },
  ];
}

/** Messages of generated logs until the vector is full. */
function messages(): Text<SharedArrayBuffer> {
  const lengths: number[] = [];
  const some: Buffer[] = [];
  let made = 0;
  for (const { message } of generateRows({ profile: "system", seed, rows: 100_000 })) {
    const bytes = Buffer.from(message);
    if (made + bytes.byteLength > vectorBytes) break;
    some.push(bytes);
    lengths.push(bytes.byteLength);
    made += bytes.byteLength;
  }
  const once = Buffer.concat(some);
  const offsets = words(besides);
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

function textSubjects(): Subject[] {
  const text = messages();
  const rows = text.offsets.length - 1;
  const bytes = text.offsets[rows]! + 4 * rows;
  const hits = words(out);
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
    const needle = needleOf(Buffer.from(ignoreCase ? word.toLowerCase() : word), ignoreCase);
    const found = kernels.countHolding(text, needle);
    const name = `${ignoreCase ? `i"${word}"` : `"${word}"`} in ${((found / rows) * 100).toFixed(2)} % of rows`;
    return [
      { name: `rows, ${name}`, rows, bytes, run: () => kernels.rowsHolding(text, needle, bitmap(rows)) },
      {
        name: `hits, ${name}`,
        rows,
        bytes: text.offsets[rows]!,
        run: () => kernels.findHits(text.bytes, 0, text.offsets[rows]!, needle, hits),
      },
    ];
  });
}

const kinds: Kind[] = [
  { name: "text", subjects: textSubjects },
  { name: "8-bit codes, 4 of them", subjects: () => codeSubjects(fillCodes(vector, 4), 4) },
  { name: "8-bit codes, 12 of them", subjects: () => codeSubjects(fillCodes(vector, 12), 12) },
  { name: "8-bit codes, 100 of them", subjects: () => codeSubjects(fillCodes(vector, 100), 100) },
  {
    name: "16-bit codes, 1,000 of them",
    subjects: () => codeSubjects(fillCodes(shorts(vector), 1000), 1000),
  },
  { name: "32-bit codes, 1,000 of them", subjects: () => codeSubjects(fillCodes(words(vector), 1000), 1000) },
  { name: "numbers", subjects: numberSubjects },
  { name: "pairs of 8-bit codes", subjects: pairSubjects },
  { name: "ids", subjects: idSubjects },
  { name: "bitmaps", subjects: bitmapSubjects },
];

function measure(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function median(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1]!;
}

function measureKind({ name, subjects }: Kind): KernelFigure {
  const listed = subjects();
  const memory: Subject[] = [
    {
      name: "memory: read",
      rows: vectorBytes / 4,
      bytes: vectorBytes,
      run: () => kernels.largestCode(words(vector)),
    },
    {
      name: "memory: copy",
      rows: vectorBytes / 4,
      bytes: vectorBytes,
      run: () => Buffer.from(vector.buffer, vector.byteOffset, vectorBytes).copy(outside),
    },
  ];
  const all = [...memory, ...listed];
  const seconds = all.map((): number[] => []);
  // The first round only lets the compiler see what is hot.
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { run }] of all.entries()) {
      const taken = measure(run);
      if (round > 0) seconds[i]!.push(taken);
    }
  }
  const speeds = all.map(({ bytes }, i) => bytes / median(seconds[i]!));
  return {
    kind: name,
    vectorBytes,
    subjects: all.map((subject, i) => ({
      name: subject.name,
      rowsPerSecond: subject.rows / median(seconds[i]!),
      bytesPerSecond: speeds[i]!,
      ofRead: speeds[i]! / speeds[0]!,
    })),
  };
}

function printed({ kind, subjects }: KernelFigure): string {
  const head = `\n${kind.padEnd(52)}   G rows/s     GB/s   of read\n`;
  const lines = subjects.map(({ name, rowsPerSecond, bytesPerSecond, ofRead }) => {
    const figures = [
      (rowsPerSecond / 1e9).toFixed(3).padStart(11),
      (bytesPerSecond / 1e9).toFixed(2).padStart(9),
      `${(ofRead * 100).toFixed(0)} %`.padStart(10),
    ];
    return `  ${name.padEnd(50)}${figures.join("")}\n`;
  });
  return head + lines.join("");
}

function measureAll(): void {
  const chosen = options.only.split(",");
  for (const kind of kinds) {
    if (!chosen.some((text) => kind.name.includes(text))) continue;
    const figure = measureKind(kind);
    if (process.send === undefined) process.stdout.write(printed(figure));
    else process.send(figure);
  }
}

if (options.help) process.stdout.write(usage);
else measureAll();
// The channel to the process that started this one would keep it alive.
process.disconnect?.();
