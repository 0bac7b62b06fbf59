/**
 * Records of OTLP that are read in WebAssembly, against the reader in TypeScript with columns in TypeScript: the batches
 * are equal byte for byte, and so is what is said of rows that are not in them.
 */
import { describe, expect, test } from "vitest";
import { BatchBuilder, PlainColumns } from "../../../../engine/index.ts";
import { Random } from "../../../../fixtures/random.ts";
import { decodeBody } from "../../../../server/index.ts";
import { makeAdmissionPolicy } from "../../../../server/ingest/admission.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { readLogsProtobuf, readTracesProtobuf } from "../../../../server/ingest/otlp/decode.ts";
import { RowSink } from "../../../../server/ingest/row-sink.ts";
import { shareJson } from "../../../../server/ingest/shared-memory-json.ts";
import { Refusal } from "../../../../server/throttle/refusal.ts";
import { scaled } from "../../../durability/campaign.ts";
import { makePlainTask } from "../decode-task.ts";
import { shareRandomRules } from "../naive-rules.ts";
import { bytesField, makeWireBody, varint } from "./wire-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const readers = { logs: readLogsProtobuf, traces: readTracesProtobuf } as const;
type WireSignal = keyof typeof readers;

const arrivalMs = 1_763_000_000_123;

/** A sink that collects rows in TypeScript, which WebAssembly has no part in. */
function makePlainSink(signal: WireSignal, task: BodyTask): RowSink {
  const sink = new RowSink(signal, task);
  sink.release();
  return Object.assign(sink, {
    builder: new BatchBuilder(signal, makeAdmissionPolicy(task), new PlainColumns()),
  });
}

function makeTask(signal: WireSignal, body: Uint8Array, more: Partial<BodyTask>): BodyTask {
  const format = signal === "logs" ? "otlp logs" : "otlp traces";
  return { content: { signal }, format, ...makePlainTask(body), arrivalMs, ...more };
}

interface Result {
  refusal?: { status: number; message: string };
  batch?: object;
  rows: number;
  hasUntimed?: boolean;
}

/** What a body becomes by the reader in TypeScript. */
function readPlainly(signal: WireSignal, task: BodyTask): Result {
  const sink = makePlainSink(signal, task);
  try {
    readers[signal](Buffer.from(task.body), sink);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { refusal: { status: refusal.status, message: refusal.message }, rows: 0 };
  }
  const { bytes, rows } = sink.finish();
  const { refused, admissionCounts, cutElements } = sink;
  const refusedByKind = [...sink.refusedByKind];
  const batch = { bytes: Buffer.from(bytes), refused, refusedByKind, admissionCounts, cutElements };
  // A row without a time of its own shows in that the body has no key.
  return { batch, rows, ...(rows > 0 ? { hasUntimed: sink.untimedRows > 0 } : {}) };
}

function readUsually(task: BodyTask): Result {
  const decoded = decodeBody(task);
  if (!decoded.ok) return { refusal: { status: decoded.status, message: decoded.message }, rows: 0 };
  const { batch, refused, refusedByKind, admissionCounts, cutElements, contentKey } = decoded;
  const said = { bytes: Buffer.from(batch.bytes), refused, refusedByKind, admissionCounts, cutElements };
  return { batch: said, rows: batch.rows, ...(batch.rows > 0 ? { hasUntimed: contentKey === null } : {}) };
}

/** Returns the number of rows. */
function check(signal: WireSignal, body: Uint8Array, more: Partial<BodyTask> = {}): number {
  const expected = readPlainly(signal, makeTask(signal, body, more));
  expect(readUsually(makeTask(signal, body, more))).toEqual(expected);
  return expected.rows;
}

const ruleSets = [shareJson([]), ...shareRandomRules(seed)];

/** Bounds, stamps and rules. */
function admissionOf(random: Random): Partial<BodyTask> {
  if (random.oneIn(3)) return {};
  const settings = {
    acceptPastMs: random.pick([undefined, 1_000_000, 400 * 86_400_000]),
    acceptFutureMs: random.pick([undefined, 0, 86_400_000_000]),
    clockSkewMs: random.pick([undefined, 1_000]),
    rowBytesMax: random.pick([undefined, 100, 200]),
    cutsLargeRows: random.oneIn(2),
  };
  const rules = random.oneIn(2) ? ruleSets[0]! : random.pick(ruleSets);
  return { admission: { settings, environment: random.pick([null, "a", "prod"]), rules } };
}

describe(`records in WebAssembly and in TypeScript (SVC_SEED=${seed})`, () => {
  test.each(["logs", "traces"] as const)("random %s, whole and broken", (signal) => {
    const random = new Random(seed);
    const bodies = scaled(600, 100_000);
    let rows = 0;
    for (let run = 0; run < bodies; run++) {
      const body = makeWireBody(signal, random);
      rows += check(signal, body, { ...admissionOf(random), flattensJson: random.oneIn(4) });
    }
    expect(rows).toBeGreaterThan(1.5 * bodies);
  });
});

/** A body of one resource with one scope: the fields of the resource's attributes, and of the scope. */
function oneScope(attributes: readonly Buffer[], records: Buffer): Buffer {
  const resource = bytesField(1, Buffer.concat(attributes.map((each) => bytesField(1, each))));
  return bytesField(1, Buffer.concat([resource, bytesField(2, records)]));
}

function stringAttribute(key: string, value: string): Buffer {
  return Buffer.concat([bytesField(1, Buffer.from(key)), bytesField(2, bytesField(1, Buffer.from(value)))]);
}

const emptyRecord = bytesField(2, Buffer.alloc(0));
const wrongField = Buffer.from([0x07]);

describe("bodies at a limit", () => {
  test.each([
    [1_000_000, emptyRecord.subarray(0, 0)],
    [1_000_000, wrongField],
    [1_000_001, wrongField],
  ])("%d rows", (count, end) => {
    const records = Buffer.concat([Buffer.alloc(count * 2, emptyRecord), end]);
    check("logs", oneScope([], records));
  });

  test.each([-2, -1, 0, 1])("rows that share as many bytes as they may, and %d more", (more) => {
    const shared = Array.from({ length: 5 }, (_, i) => stringAttribute(`shared.${i}`, "x".repeat(200_000)));
    const count = Math.floor(2 ** 30 / (5 * 200_032)) + more;
    check("logs", oneScope(shared, Buffer.alloc(count * 2, emptyRecord)));
  });

  test.each([999, 1_000, 1_001, 1_024, 1_025, 1_026, 10_001])("a record with %d attributes", (count) => {
    const fields = Array.from({ length: count }, (_, i) => bytesField(6, stringAttribute(`own.${i}`, "x")));
    const record = bytesField(2, Buffer.concat(fields));
    check("logs", oneScope([], Buffer.concat([emptyRecord, record, emptyRecord, record])));
    check(
      "logs",
      oneScope([stringAttribute("shared", "y")], Buffer.concat([emptyRecord, record, emptyRecord])),
    );
  });

  test.each([999, 1_000, 1_001, 1_024, 1_025])("records that share %d attributes", (count) => {
    const shared = Array.from({ length: count }, (_, i) => stringAttribute(`shared.${i}`, "x"));
    const record = bytesField(2, bytesField(6, stringAttribute("shared.7", "own")));
    check("logs", oneScope(shared, Buffer.concat([emptyRecord, record, emptyRecord])));
  });

  test.each([0, 300, 780, 800])(
    "texts for which there is no more room, after %d of a resource",
    (sharedCount) => {
      // The longest number, in eleven bytes.
      const number = Buffer.concat([Buffer.from([0x18]), varint(2n ** 63n)]);
      const attribute = (key: string) =>
        Buffer.concat([bytesField(1, Buffer.from(key)), bytesField(2, number)]);
      const numbers = Array.from({ length: 980 }, (_, i) => bytesField(6, attribute(`own.${i}`)));
      const large = bytesField(2, Buffer.concat(numbers));
      const usual = bytesField(
        2,
        Buffer.concat([...numbers.slice(0, 9), bytesField(9, Buffer.alloc(16, 7))]),
      );
      const shared = Array.from({ length: sharedCount }, (_, i) => attribute(`shared.${i}`));
      check("logs", oneScope(shared, Buffer.concat([usual, usual, large, usual, large, large, usual])));
    },
  );

  test.each([3, 8, 9, 40])("%d unusual records one after the other, and usual ones around them", (count) => {
    const usual = bytesField(2, bytesField(6, stringAttribute("a", "x")));
    // The key is there twice.
    const attribute = bytesField(6, stringAttribute("b", "y"));
    const unusual = bytesField(2, Buffer.concat([attribute, attribute]));
    const unusuals = Buffer.concat(Array.from({ length: count }, () => unusual));
    check(
      "logs",
      oneScope([stringAttribute("c", "z")], Buffer.concat([usual, unusuals, usual, usual, unusuals])),
    );
    check("logs", oneScope([], Buffer.concat([unusuals, usual, usual, unusual, usual])));
  });

  test("more distinct keys than a body may have", () => {
    const keysMax = 131_072;
    const records = Array.from({ length: keysMax / 64 + 2 }, (_, row) => {
      const fields = Array.from({ length: 64 }, (_, i) => bytesField(6, stringAttribute(`${row}.${i}`, "x")));
      return bytesField(2, Buffer.concat(fields));
    });
    check("logs", oneScope([], Buffer.concat(records)));
  });
});
