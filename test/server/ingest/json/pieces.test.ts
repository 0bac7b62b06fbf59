/** Several pieces of a body, read into one batch, against the same lines read as one body. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RowSignal } from "../../../../engine/index.ts";
import { Random } from "../../../../fixtures/random.ts";
import { decodeBody } from "../../../../server/index.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { formats } from "../../../../server/ingest/formats.ts";
import { scaled } from "../../../durability/campaign.ts";
import { makePlainTask } from "../decode-task.ts";
import {
  anyAdmission,
  anyText,
  arrivalMs,
  attributes,
  joinBuffers,
  key,
  linesOf,
  nested,
  numbers,
  object,
  quoted,
} from "./json-bodies.ts";
import { splitBatch, toPieces } from "./piece-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** Everything but the bytes that decides what becomes of a body. */
type Settings = Pick<BodyTask, "admission" | "fieldNames"> & { flattensJson?: boolean };

function taskOf(signal: RowSignal, body: Uint8Array, settings: Settings): BodyTask {
  return {
    ...({ content: { signal }, format: "json lines", arrivalMs } as const),
    ...makePlainTask(body),
    ...settings,
  };
}

function decode(task: BodyTask) {
  const decoded = decodeBody(task);
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded;
}

function countUntimed(task: BodyTask): number {
  const sink = formats["json lines"](Buffer.from(task.body), task);
  const { untimedRows } = sink;
  sink.release();
  return untimedRows;
}

/** Expects groups of lines, each of them a piece, to be read as all of the lines in one body. */
function check(signal: RowSignal, groups: readonly (readonly Buffer[])[], settings: Settings = {}): void {
  const whole = Buffer.concat(toPieces(groups).map(({ bytes }) => bytes));
  const piecesTask = () => ({ ...taskOf(signal, Buffer.alloc(0), settings), pieces: toPieces(groups) });
  const one = decode(taskOf(signal, whole, settings));
  const several = decode(piecesTask());
  expect(several.refused).toEqual(one.refused);
  expect(several.refusedByKind.toSorted()).toEqual(one.refusedByKind.toSorted());
  expect(several.admissionCounts).toEqual(one.admissionCounts);
  expect(several.dropped).toEqual(one.dropped);
  expect(several.cutElements).toBe(one.cutElements);
  expect(several.unpackedBytes).toBe(one.unpackedBytes);
  expect(several.batch.rows).toBe(one.batch.rows);
  expect(countUntimed(piecesTask())).toBe(countUntimed(taskOf(signal, whole, settings)));
  const made = splitBatch(several.batch.bytes);
  expect(made.rest.equals(splitBatch(one.batch.bytes).rest)).toBe(true);
  const keys = toPieces(groups).map(({ bytes, keyHash }) => ({
    hash: keyHash,
    rows: decode(taskOf(signal, bytes, settings)).batch.rows,
  }));
  expect(made.keys).toEqual(keys);
  expect(several.batch.keys).toEqual(keys);
}

/** A piece that begins with a bracket is one array. */
const isArray = (lines: readonly Buffer[]) =>
  /^[ \t\r\n]*\[/.test(joinBuffers(lines, "\n").toString("latin1"));
const groupsOf = (row: fc.Arbitrary<Buffer>) =>
  fc.array(
    linesOf(row).filter((lines) => lines.length > 0 && !isArray(lines)),
    { minLength: 1, maxLength: 6 },
  );

const named = (name: string, value: fc.Arbitrary<string>) =>
  value.map((text): [string, string] => [`"${name}"`, text]);
const text = fc.oneof({ weight: 10, arbitrary: quoted(anyText) }, { weight: 1, arbitrary: nested });

const times = ["1736121600026", "1763000001123", "1762000000000", "1763100000000", "-5", "1.5", "x"];
const logMember = fc.oneof(
  { weight: 5, arbitrary: named("timestamp", fc.constantFrom(...times, ...numbers)) },
  {
    weight: 2,
    arbitrary: named(
      "timeUnixNano",
      fc.constantFrom(...times).map((time) => `"${time}000000"`),
    ),
  },
  { weight: 3, arbitrary: named("log_level", text) },
  { weight: 4, arbitrary: named("message", text) },
  { weight: 3, arbitrary: named("attributes", attributes) },
  { weight: 2, arbitrary: fc.tuple(key, nested) },
);
const log = object(logMember, 7).map((json) => Buffer.from(json));

const digits = (count: number) =>
  fc.oneof(
    {
      weight: 15,
      arbitrary: fc.nat({ max: 20 }).map((n) => `"${n.toString(16).padStart(count - 1, "0")}7"`),
    },
    { weight: 1, arbitrary: fc.constantFrom('""', '"ab"', "null") },
  );
const spanTime = fc.oneof(
  { weight: 9, arbitrary: fc.nat({ max: 99 }).map((n) => `"17630000000${10 + (n % 90)}000000"`) },
  { weight: 1, arbitrary: fc.constantFrom("5", '"x"', "null") },
);
const span = fc
  .record({
    trace: named("traceId", digits(32)),
    id: named("spanId", digits(16)),
    start: named("startTimeUnixNano", spanTime),
    others: fc.array(
      fc.oneof(
        named("parentSpanId", digits(16)),
        named("name", text),
        named("kind", fc.constantFrom('"server"', '"client"', "2", "null")),
        named("statusCode", fc.constantFrom('"ok"', '"error"', "2")),
        named("endTimeUnixNano", spanTime),
        named("attributes", attributes),
        fc.tuple(key, nested),
      ),
      { maxLength: 6 },
    ),
  })
  .map(({ trace, id, start, others }) => {
    const members = [trace, ...others, id, start].map(([name, value]) => `${name}:${value}`);
    return Buffer.from(`{${members.join(",")}}`);
  });

describe(`pieces of a body (SVC_SEED=${seed})`, () => {
  test("logs of any shape give the same batch, counts and refused lines as one body", () => {
    const settings = fc.record({ flattensJson: fc.boolean() });
    fc.assert(
      fc.property(groupsOf(log), settings, (groups, chosen) => check("logs", groups, chosen)),
      { seed, numRuns: scaled(150, 10_000) },
    );
  });

  test("logs give the same batch where there are rules, stamps, bounds and a clock that is corrected", () => {
    fc.assert(
      fc.property(groupsOf(log), anyAdmission(seed), (groups, admission) =>
        check("logs", groups, { admission }),
      ),
      { seed, numRuns: scaled(150, 10_000) },
    );
  });

  test("logs whose fields the sender named give the same batch", () => {
    const fieldNames = { time: "startTimeUnixNano", level: "a", message: "b" };
    fc.assert(
      fc.property(groupsOf(log), (groups) => check("logs", groups, { fieldNames })),
      { seed, numRuns: scaled(100, 5_000) },
    );
  });

  test("spans of any shape give the same batch, counts and refused lines as one body", () => {
    fc.assert(
      fc.property(groupsOf(span), (groups) => check("traces", groups)),
      { seed, numRuns: scaled(150, 10_000) },
    );
  });

  test("names and values that take the place of others of an earlier piece", () => {
    const random = new Random(seed);
    const name = () => random.pick(["log", "msg", "key", "a.b", "b.a"]);
    const value = () => random.pick(["one", "two", "six", "\\n12", "1\\n2"]);
    for (let run = 0; run < scaled(200, 20_000); run++) {
      const groups = Array.from({ length: 2 + random.below(4) }, () =>
        Array.from({ length: 1 + random.below(3) }, () => {
          const time = random.pick([arrivalMs, arrivalMs - 86_400_000]);
          const nested = `"${random.pick(["in", "at"])}":{"${name()}":"${value()}"}`;
          const attributes = `{"${name()}":"${value()}",${nested}}`;
          return Buffer.from(
            `{"timestamp":${time},"log_level":"${value()}","message":"${value()}","attributes":${attributes}}`,
          );
        }),
      );
      check("logs", groups);
    }
  });

  test("many rows give the same batch, whatever their days, keys, values and pieces", () => {
    const random = new Random(seed);
    for (let run = 0; run < scaled(5, 120); run++) {
      const [days, keys, values] = [1 + random.below(5), 1 + random.below(700), 1 + random.below(2_000)];
      const groups = Array.from({ length: 1 + random.below(9) }, () =>
        Array.from({ length: 1 + random.below(500) }, () => {
          if (random.below(100) === 0) return Buffer.from('{"message":"no \xff valid text"}', "latin1");
          const row = {
            timestamp: arrivalMs - random.below(days) * 86_400_000 - random.below(5_000),
            log_level: random.pick(["info", "error", ""]),
            message: `message ${random.below(values)} "\u00fc"\n`.repeat(random.below(4)),
            attributes: Object.fromEntries(
              Array.from({ length: random.below(9) }, () => [
                `key${random.below(keys)}`,
                "v".repeat(random.below(9)) + random.below(values),
              ]),
            ),
          };
          return Buffer.from(JSON.stringify(row));
        }),
      );
      check("logs", groups);
    }
  });
});
