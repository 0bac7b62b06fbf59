/** Pieces of inputs that are loaded straight into a data folder, however they are grouped, against the lines themselves. */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openStore, type RowSignal } from "../../../../engine/index.ts";
import { Random } from "../../../../fixtures/random.ts";
import { type DirectLoad, openDirectLoad } from "../../../../server/ingest/pieces/direct-load.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 10);
const memoryBytes = 600 * 2 ** 20;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-pieces-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const open = () => openDirectLoad(dir, memoryBytes, () => undefined);

/** A line, and what a reader of it stores; undefined where it is refused. */
interface Line {
  bytes: Buffer;
  stored: string | undefined;
}

interface Piece {
  firstLine: number;
  lines: Line[];
}

type Taken = Awaited<ReturnType<DirectLoad["take"]>>;

/** Also of pieces of different lines: of equal lengths they are not. */
const keyOf = ({ firstLine, lines }: Piece) =>
  `${firstLine} ${createHash("sha256")
    .update(Buffer.concat(lines.map(({ bytes }) => bytes)))
    .digest("hex")}`;

function print(
  timeNs: bigint,
  level: string,
  message: string,
  attributes: Readonly<Record<string, string>>,
): string {
  return JSON.stringify([String(timeNs), level, message, Object.entries(attributes).sort()]);
}

const lineOf = (text: string, stored?: string): Line => ({ bytes: Buffer.from(`${text}\n`), stored });

function goodLog(n: number, level = "info", attributes: Record<string, string> = { n: String(n) }): Line {
  const message = `row "${n}" ü\n`;
  const text = JSON.stringify({ timestamp: startMs + n, log_level: level, message, attributes });
  return lineOf(text, print(BigInt(startMs + n) * 1_000_000n, level, message, attributes));
}

const badUtf8: Line = { bytes: Buffer.from('{"message":"\xff"}\n', "latin1"), stored: undefined };

function drawLog(random: Random, n: number): Line {
  switch (random.below(12)) {
    case 0:
      return lineOf("no JSON");
    case 1:
      return random.oneIn(3) ? badUtf8 : lineOf('{"timestamp":"never"}');
    case 2: {
      const attributes = { a: { b: n, list: [1, "x"] } };
      const text = JSON.stringify({ timestamp: startMs, message: "nested", attributes });
      const stored = { "a.b": String(n), "a.list": '[1,"x"]' };
      return lineOf(text, print(BigInt(startMs) * 1_000_000n, "", "nested", stored));
    }
    default:
      // Of several days, and out of order.
      return goodLog((n * 7_919) % 200_000_000, random.pick(["info", "Error"]));
  }
}

function drawSpan(random: Random, n: number): Line {
  const [traceId, spanId] = [random.hex(31), random.hex(15)];
  const startNs = BigInt(startMs + random.below(90_000_000)) * 1_000_000n;
  if (random.oneIn(9)) return lineOf(JSON.stringify({ traceId, spanId, startTimeUnixNano: "1" }));
  const span = {
    ...{ traceId: `${traceId}7`, spanId: `${spanId}7`, name: `GET /${n % 9}`, kind: "server" },
    ...{ startTimeUnixNano: String(startNs), endTimeUnixNano: String(startNs + 5_000_000n) },
    attributes: { host: `h${n % 3}` },
  };
  const stored = {
    ...{ trace_id: span.traceId, span_id: span.spanId, name: span.name, kind: "server", duration_ms: "5" },
    ...span.attributes,
  };
  return lineOf(JSON.stringify(span), print(startNs, "", "", stored));
}

/** Cuts lines into pieces of at most so many. */
function cut(random: Random, lines: readonly Line[], linesMax: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < lines.length; ) {
    const count = 1 + random.below(linesMax);
    pieces.push({ firstLine: at + 1, lines: lines.slice(at, at + count) });
    at += count;
  }
  return pieces;
}

const placeOf = (piece: Piece) => ({
  key: keyOf(piece),
  place: { firstLine: piece.firstLine, lines: piece.lines.length },
});

function take(load: DirectLoad, signal: RowSignal, pieces: readonly Piece[]): Promise<Taken> {
  const sent = pieces.map((piece) => {
    const text = Buffer.concat(piece.lines.map(({ bytes }) => bytes));
    const memory = load.takeMemory(text.length);
    memory.set(text);
    return { bytes: memory.subarray(0, text.length), ...placeOf(piece) };
  });
  return load.take(signal, sent);
}

const goodIn = (pieces: readonly Piece[]) =>
  pieces.flatMap(({ lines }) => lines.flatMap(({ stored }) => (stored === undefined ? [] : [stored])));

const refusedIn = (pieces: readonly Piece[]) =>
  pieces.flatMap(({ firstLine, lines }) =>
    lines.flatMap(({ stored }, i) => (stored === undefined ? [firstLine + i] : [])),
  );

/** Expects the outcome of pieces of which some were taken before: their rows are counted, and refused lines told again. */
function expectTaken(taken: Taken, fresh: readonly Piece[], known: readonly Piece[] = []): void {
  const { errors, ...counts } = taken;
  const refused = [...refusedIn(fresh), ...refusedIn(known)];
  const wanted = {
    accepted: goodIn(fresh).length,
    duplicates: goodIn(known).length,
    refused: refused.length,
  };
  expect(counts).toMatchObject(wanted);
  const listed = errors.map(({ line }) => line).slice(0, 100);
  expect(listed).toEqual(refused.slice(0, 100));
}

/** What the closed folder holds, in order. */
async function readBack(signal: RowSignal, rowsMax: number): Promise<string[]> {
  const store = await openStore({ dir, threads: 1 });
  try {
    const query = { signal, fromNs: 0n, toNs: 1n << 62n, steps: [], limit: rowsMax + 1 };
    const { rows } = await store.search(query);
    expect(store.stats().damage).toEqual([]);
    return rows
      .map(({ timeNs, level, message, attributes }) => print(timeNs, level, message, attributes))
      .sort();
  } finally {
    await store.close();
  }
}

describe(`pieces (SVC_SEED=${seed})`, () => {
  test.each([
    ["logs", drawLog],
    ["traces", drawSpan],
  ] as const)(
    "of %s add their rows once, however they are grouped, before and after a restart",
    async (signal, draw) => {
      const random = new Random(seed);
      const pieces = cut(
        random,
        Array.from({ length: 1_200 }, (_, n) => draw(random, n)),
        40,
      );
      const taken = new Set<Piece>();
      let load = await open();
      for (let at = 0; at < pieces.length; ) {
        // What was taken in one group before comes again in others, in part with what is new.
        const from = Math.max(0, at - random.below(6));
        const to = Math.min(pieces.length, at + 1 + random.below(6));
        const group = pieces.slice(from, to);
        const fresh = group.filter((piece) => !taken.has(piece));
        const known = group.filter((piece) => taken.has(piece));
        expectTaken(await take(load, signal, group), fresh, known);
        // A group that has no rows leaves no keys.
        if (goodIn(fresh).length > 0) for (const piece of fresh) taken.add(piece);
        at = to;
        if (random.oneIn(15)) {
          await load.close();
          load = await open();
        }
      }
      const known = pieces.filter((piece) => taken.has(piece)).toReversed();
      expectTaken(await take(load, signal, known), [], known);
      await load.close();
      const stored = await readBack(signal, 1_200);
      expect(stored).toEqual(goodIn(pieces).sort());
    },
  );

  test("of large groups, taken at the same time, become chunks with all rows", async () => {
    const random = new Random(seed + 1);
    const lines = Array.from({ length: 40_000 }, (_, n) =>
      n % 9_000 === 17 ? badUtf8 : goodLog(n % 30_000),
    );
    const pieces = cut(random, lines, 4_000);
    const half = Math.ceil(pieces.length / 2);
    const groups = [pieces.slice(0, half), pieces.slice(half)];
    let load = await open();
    const outcomes = await Promise.all(groups.map((group) => take(load, "logs", group)));
    for (const [i, outcome] of outcomes.entries()) expectTaken(outcome, groups[i]!);
    await load.close();
    load = await open();
    // Other groups than before.
    for (let at = 0; at < pieces.length; at += 3) {
      const group = pieces.slice(at, at + 3);
      expectTaken(await take(load, "logs", group), [], group);
    }
    await load.close();
    expect(await readBack("logs", lines.length)).toEqual(goodIn(pieces).sort());
  });

  test("with a line that is not valid UTF-8 lose that line alone", async () => {
    const good = Array.from({ length: 9 }, (_, n) => goodLog(n));
    const pieces: Piece[] = [
      { firstLine: 1, lines: good.slice(0, 3) },
      { firstLine: 4, lines: [good[3]!, badUtf8, good[4]!, lineOf("no JSON")] },
      { firstLine: 8, lines: [badUtf8] },
      { firstLine: 9, lines: good.slice(5) },
    ];
    const load = await open();
    const taken = await take(load, "logs", pieces);
    expectTaken(taken, pieces);
    expect(taken.errors.map(({ line, reason }) => [line, reason.split(":")[0]])).toEqual([
      [5, "not valid UTF-8"],
      [7, "not JSON"],
      [8, "not valid UTF-8"],
    ]);
    await load.close();
    expect(await readBack("logs", 9)).toEqual(goodIn(pieces).sort());
  });

  test("whose rows are all refused store nothing, and are refused again", async () => {
    const bad: Piece = { firstLine: 12, lines: [lineOf("no JSON"), badUtf8] };
    const blank: Piece = {
      firstLine: 14,
      lines: [lineOf("")].map((line) => ({ ...line, stored: undefined })),
    };
    const good: Piece = { firstLine: 15, lines: [goodLog(1)] };
    const load = await open();
    for (let time = 0; time < 2; time++) expectTaken(await take(load, "logs", [bad]), [bad]);
    expect(await take(load, "logs", [blank])).toMatchObject({
      accepted: 0,
      duplicates: 0,
      refused: 0,
      errors: [],
    });
    expectTaken(await take(load, "logs", [bad, good]), [bad, good]);
    expectTaken(await take(load, "logs", [good]), [], [good]);
    await load.close();
    expect(await readBack("logs", 9)).toEqual(goodIn([good]));
  });

  test("that hold many keys go together into a group without a row being refused", async () => {
    const lines = Array.from({ length: 18_000 }, (_, n) =>
      goodLog(n, "info", Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`key ${i} of ${n}`, "1"]))),
    );
    const pieces = Array.from({ length: 3 }, (_, i) => ({
      firstLine: i * 6_000 + 1,
      lines: lines.slice(i * 6_000, (i + 1) * 6_000),
    }));
    const load = await openDirectLoad(dir, 2 ** 30, () => undefined);
    const bytes = lines.reduce((sum, line) => sum + line.bytes.length, 0);
    expect(load.groupSizeOf("logs").bytesMax).toBeGreaterThan(bytes);
    expect(load.groupSizeOf("logs").linesMax).toBeGreaterThan(lines.length);
    expectTaken(await take(load, "logs", pieces), pieces);
    expectTaken(await take(load, "logs", pieces), [], pieces);
    await load.close();
    expect(await readBack("logs", lines.length)).toEqual(goodIn(pieces).sort());
  });
});
