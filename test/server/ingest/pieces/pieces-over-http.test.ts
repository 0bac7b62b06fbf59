/** Bodies in pieces over HTTP, however the pieces are grouped, against the lines themselves. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Random } from "../../../../fixtures/random.ts";
import { queryTimeseries } from "../../../../query/index.ts";
import {
  call,
  type Got,
  type IngestResult,
  ingest,
  lines,
  type Running,
  search,
  startServer,
} from "../../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 10);

let server: Running;
beforeEach(async () => {
  server = await startServer({ ingestThreads: 2 });
});
afterEach(() => server.stop());

interface Piece {
  key: string;
  text: string;
}

interface Taken extends IngestResult {
  duplicates?: number;
  dropped?: number;
}

const rowOf = (n: number) => ({
  timestamp: startMs + n,
  message: `row ${n} of many`,
  attributes: { n: String(n) },
});
/** A piece of the rows from `from` to `to`. */
const pieceOf = (from: number, to: number): Piece => ({
  key: `rows-${from}`,
  text: lines(Array.from({ length: to - from }, (_, i) => rowOf(from + i))),
});
const headerOf = (pieces: readonly Piece[]) =>
  pieces.map(({ key, text }) => `${Buffer.byteLength(text)} ${key}`).join(", ");

function send(pieces: readonly Piece[], headers: Record<string, string> = {}): Promise<Got<Taken>> {
  const body = pieces.map(({ text }) => text).join("");
  return ingest(server, body, { "Idempotency-Keys": headerOf(pieces), ...headers });
}

function sendBytes(pieces: readonly { key: string; bytes: Buffer }[]): Promise<Got<Taken>> {
  const header = pieces.map(({ key, bytes }) => `${bytes.length} ${key}`).join(", ");
  return ingest(server, Buffer.concat(pieces.map(({ bytes }) => bytes)), { "Idempotency-Keys": header });
}

/** The number of rows, and of distinct rows. */
async function counts(): Promise<{ rows: number; distinct: number }> {
  const { store } = server.service;
  // With few rows in a bucket, the distinct count is exact.
  const asked = { startMs, endMs: startMs + 3_600_000, bucketSeconds: 1 };
  const { series } = await queryTimeseries(store, { query: "count_distinct(n, logs)", ...asked });
  const distinct = series.flatMap(({ points }) => points).reduce((sum, [, count]) => sum + count, 0);
  return { rows: store.stats().rows, distinct };
}

describe("pieces", () => {
  test(`are stored once, however they are grouped and sent again (SVC_SEED=${seed})`, async () => {
    const random = new Random(seed);
    const pieces: Piece[] = [];
    for (let at = 0; at < 20_000; ) {
      const to = Math.min(20_000, at + 1 + random.below(2_000));
      pieces.push(pieceOf(at, to));
      at = to;
    }
    const rowsOf = new Map(pieces.map(({ key, text }) => [key, text.split("\n").length - 1]));
    const known = new Set<string>();
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < pieces.length; ) {
        const group = pieces
          .slice(at, at + 1 + random.below(6))
          .filter(() => round === 2 || random.below(4) > 0);
        at += Math.max(1, group.length);
        if (group.length === 0) continue;
        const rows = group.reduce((sum, { key }) => sum + rowsOf.get(key)!, 0);
        const again = group.reduce((sum, { key }) => sum + (known.has(key) ? rowsOf.get(key)! : 0), 0);
        for (const { key } of group) known.add(key);
        const { status, json } = await send(group);
        expect([status, json.accepted, json.duplicates ?? 0, json.refused]).toEqual([200, rows, again, 0]);
        expect(json.duplicate).toBe(again === rows);
      }
    }
    expect(await counts()).toEqual({ rows: 20_000, distinct: 20_000 });
  });

  test("that are sent at the same time keep their own bytes", async () => {
    const rows = 4_000;
    const bodies = Array.from({ length: 24 }, (_, i) => [
      pieceOf(i * rows, i * rows + rows / 2),
      pieceOf(i * rows + rows / 2, (i + 1) * rows),
    ]);
    const inTurn = async (): Promise<void> => {
      for (let next = bodies.pop(); next !== undefined; next = bodies.pop()) {
        const { status, json } = await send(next);
        expect([status, json]).toMatchObject([200, { accepted: rows, refused: 0 }]);
      }
    };
    await Promise.all([inTurn(), inTurn(), inTurn(), inTurn()]);
    expect(await counts()).toEqual({ rows: 24 * rows, distinct: 24 * rows });
  });

  test("of many rows can be searched at once", async () => {
    const { json } = await send([pieceOf(0, 15_000), pieceOf(15_000, 30_000)]);
    expect(json).toMatchObject({ accepted: 30_000, duplicate: false });
    const found = await search(server, { query: '"row 29999 of many"' });
    expect(found.json.logs).toEqual([{ ...rowOf(29_999), log_level: "" }]);
  });

  test("have the keys of bodies", async () => {
    const [one, two] = [pieceOf(0, 10), pieceOf(10, 20)];
    await ingest(server, one.text, { "Idempotency-Key": one.key });
    expect((await send([one, two])).json).toMatchObject({ accepted: 20, duplicates: 10, duplicate: false });
    const alone = await ingest(server, two.text, { "Idempotency-Key": two.key });
    expect(alone.json).toMatchObject({ accepted: 10, duplicate: true });
  });

  test("report refused lines by their numbers in the body, each time", async () => {
    const bad: Piece = {
      key: "bad",
      text: `${JSON.stringify(rowOf(1))}\nno JSON\n${JSON.stringify(rowOf(2))}\n`,
    };
    const worse: Piece = { key: "worse", text: "neither\n" };
    const good = pieceOf(100, 105);
    for (const duplicates of [undefined, 7]) {
      const { status, json } = await send([good, bad, worse]);
      expect([status, json.accepted, json.refused, json.duplicates]).toEqual([200, 7, 2, duplicates]);
      expect(json.errors.map(({ line }) => line)).toEqual([7, 9]);
      expect(json.errors[0]!.reason).toContain("not JSON");
    }
    const { status, json } = await send([worse]);
    expect([status, json.error]).toEqual([400, expect.stringContaining("the only row was refused; line 1")]);
    expect((await counts()).rows).toBe(7);
  });

  test("report the lines after pieces of every form, whichever were stored before", async () => {
    const row = JSON.stringify(rowOf(1));
    const texts = [
      `\n${row}\n \n${row}\n`,
      `[${row},\n ${row},\n\n ${row}]\n`,
      // The second line is not UTF-8, so that the whole piece is read row by row.
      `${JSON.stringify({ message: "two\\nlines\\n" })}\n\u00ff\n`,
      `${JSON.stringify({ message: "two\nlines\n" })}\r\n${row}\n`,
      "\n\n",
      row,
    ].map((text) => Buffer.from(text, "latin1"));
    for (const stored of [[], [0], [1, 3], [2], [4], [0, 1, 2, 3, 4]]) {
      // A line that is refused stands after each piece, in a piece of its own.
      const pieces = texts.slice(0, -1).flatMap((bytes, i) => [
        { key: `form-${i}-${stored.join("-")}`, bytes },
        { key: `bad-${i}-${stored.join("-")}`, bytes: Buffer.from("no JSON\n") },
      ]);
      pieces.push({ key: `last-${stored.join("-")}`, bytes: texts.at(-1)! });
      for (const i of stored)
        await sendBytes([pieces[2 * i]!, { key: `last-${stored.join("-")}`, bytes: texts.at(-1)! }]);
      const { json } = await sendBytes(pieces);
      const sent = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString("latin1");
      const expected = sent
        .split("\n")
        .flatMap((line, i) => (/^(?:no JSON|\u00ff)$/.test(line) ? [i + 1] : []));
      expect(json.errors.map(({ line }) => line)).toEqual(expected);
      expect(expected).toHaveLength(6);
    }
  });

  test("count the rows that ingestion rules leave out, each time", async () => {
    const matchExpressions = [{ key: "n", operator: "In", values: ["1", "3"] }];
    const rules = [{ signals: ["logs"], action: "Exclude", match: { matchExpressions } }];
    const made = await call(server, "/api/v1/ingestion-rules", {
      token: server.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ingestionRule: { id: "some", rules } }),
    });
    expect(made.status).toBe(200);
    const pieces = [pieceOf(0, 4), pieceOf(4, 8)];
    expect((await send(pieces)).json).toMatchObject({ accepted: 6, dropped: 2, refused: 0 });
    expect((await send(pieces)).json).toMatchObject({
      accepted: 6,
      dropped: 2,
      duplicates: 6,
      duplicate: true,
    });
    const none: Piece = { key: "none", text: lines([rowOf(1), rowOf(3)]) };
    for (let time = 0; time < 2; time++)
      expect((await send([none])).json).toMatchObject({ accepted: 0, dropped: 2, refused: 0 });
    expect((await counts()).distinct).toBe(6);
  });

  test("of spans and of samples", async () => {
    const span = (n: number) => ({
      traceId: "a".repeat(32),
      spanId: String(n + 1).padStart(16, "0"),
      name: "GET",
      startTimeUnixNano: `${startMs + n}000000`,
    });
    const sample = (n: number) => ({ timestamp: startMs + n, name: "up", value: n, labels: { job: "x" } });
    for (const [what, make] of [
      ["spans", span],
      ["metrics", sample],
    ] as const) {
      const pieces = [0, 1].map((i) => ({ key: `k${i}`, text: lines([make(2 * i), make(2 * i + 1)]) }));
      const body = pieces.map(({ text }) => text).join("");
      const sendThem = () => ingest(server, body, { "Idempotency-Keys": headerOf(pieces) }, what);
      expect((await sendThem()).json).toMatchObject({ accepted: 4, refused: 0, duplicate: false });
      expect((await sendThem()).json).toMatchObject({ accepted: 4, refused: 0, duplicate: true });
    }
    const { signals } = server.service.store.stats();
    expect([signals.traces.rows, signals.metrics.rows]).toEqual([4, 4]);
  });
});

describe("a header that does not divide the body", () => {
  const pieces = [pieceOf(0, 2), pieceOf(2, 4)];
  const text = pieces.map((piece) => piece.text).join("");
  const [length, half] = [text.length, pieces[0]!.text.length];
  test.each([
    ["", 'piece 1 must be "BYTES KEY", got ""'],
    ["x", 'piece 1 must be "BYTES KEY", got "x"'],
    [`${length}`, "piece 1 must be"],
    [`0 a, ${length} b`, "piece 1 must be"],
    [`-1 a, ${length} b`, "piece 1 must be"],
    [`${length} a b`, "piece 1 must be"],
    [`${length} ${"k".repeat(257)}`, "piece 1 must be"],
    [`${half} a,, ${half} b`, "piece 2 must be"],
    [`${half} a`, `its pieces have ${half} bytes, the body has ${length}`],
    [`${half} a, 99999 b`, `the body has ${length}`],
    [`${half} a, ${half} a`, "piece 2 has the key of another piece"],
    [`${half - 1} a, ${half + 1} b`, "piece 1 must end with a newline"],
    [Array.from({ length: 65 }, (_, i) => `1 k${i}`).join(","), "at most 64 pieces, got 65"],
  ])("%s", async (header, problem) => {
    const { status, json } = await ingest(server, text, { "Idempotency-Keys": header });
    expect([status, json.error]).toEqual([400, expect.stringContaining(problem)]);
    expect(json.error).toContain("Idempotency-Keys");
    expect((await counts()).rows).toBe(0);
  });

  test.each([
    [{ "Idempotency-Key": "one" }, "exclude each other"],
    [{ "Content-Encoding": "gzip" }, "without Content-Encoding"],
  ])("goes with no %o", async (headers, problem) => {
    const { status, json } = await send(pieces, headers);
    expect([status, json.error]).toEqual([400, expect.stringContaining(problem)]);
    expect((await counts()).rows).toBe(0);
  });

  test("does not stop a body without a last newline", async () => {
    const body = text.slice(0, -1);
    const { json } = await ingest(server, body, { "Idempotency-Keys": `${half} a, ${half - 1} b` });
    expect(json).toMatchObject({ accepted: 4, refused: 0 });
  });
});

describe("limits", () => {
  test("are told to those who may send, and hold", async () => {
    const small = await startServer({ memoryBytes: 440 * 2 ** 20 });
    try {
      const ask = (token?: string) =>
        call<{ bytesMax: number; linesMax: number; atATime: number }>(
          small,
          "/api/v1/ingest/logs/limits",
          token === undefined ? {} : { token },
        );
      expect((await ask()).status).toBe(401);
      const { bytesMax, linesMax, atATime } = (await ask(small.adminToken)).json;
      expect(bytesMax).toBeGreaterThan(1_000_000);
      expect(bytesMax).toBeLessThan(8 * 2 ** 20);
      expect(linesMax).toBeGreaterThanOrEqual(16_384);
      expect(atATime).toBeGreaterThanOrEqual(1);
      const line = `${JSON.stringify({ message: "x".repeat(999_000) })}\n`;
      const body = line.repeat(Math.floor(bytesMax / line.length) + 1);
      const headers = { "Idempotency-Keys": `${body.length} all` };
      const refused = await ingest(small, body, headers);
      expect([refused.status, refused.json.error]).toEqual([
        413,
        expect.stringContaining(`${bytesMax} bytes`),
      ]);
      const less = body.slice(line.length);
      const taken = await ingest(small, less, { "Idempotency-Keys": `${less.length} all` });
      expect([taken.status, taken.json.refused]).toEqual([200, 0]);
    } finally {
      await small.stop();
    }
  });
});
