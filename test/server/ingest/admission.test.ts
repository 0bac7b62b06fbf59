/** Rows that are too large or too far off the clock: which are admitted, truncated, refused and counted. */

import { describe, expect, test } from "vitest";
import { decodeBody } from "../../../server/index.ts";
import type { AdmissionSettings } from "../../../server/ingest/admission-settings.ts";
import { shareJson } from "../../../server/ingest/shared-memory-json.ts";
import { oneOf, randomOf } from "../control/random.ts";
import { lines } from "../running.ts";
import { makePlainTask } from "./decode-task.ts";
import { readStoredRows } from "./stored-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const nowMs = 1_763_000_000_123;

function decoded(
  rows: readonly unknown[],
  settings: AdmissionSettings,
  signal: "logs" | "profiles" | "traces" = "logs",
) {
  const result = decodeBody({
    content: { signal },
    format: "json lines",
    ...makePlainTask(Buffer.from(lines(rows))),
    arrivalMs: nowMs,
    admission: { settings, environment: null, rules: shareJson([]) },
  });
  if (!result.ok) throw new Error(result.message);
  return result;
}

describe("large rows", () => {
  test(`are truncated at the end of a character, and their original length is stored (SVC_SEED=${seed})`, async () => {
    const random = randomOf(seed);
    const rows = Array.from({ length: 400 }, (_, i) => ({
      timestamp: nowMs - 1000 + i,
      log_level: "info",
      message: Array.from({ length: Math.floor(random() * 90) }, () =>
        oneOf(["a", "ö", "€", "🦜"], random),
      ).join(""),
      attributes: { n: String(i), note: "x".repeat(Math.floor(random() * 120)) },
    }));
    const rowBytesMax = 160;
    const { batch, refused, admissionCounts } = decoded(rows, { rowBytesMax, cutsLargeRows: true });
    const found = new Map(
      (await readStoredRows("logs", [batch])).map((row) => [Number(row.attributes.n), row]),
    );
    let truncated = 0;
    for (const [i, { message, log_level, attributes }] of rows.entries()) {
      const otherBytes = Buffer.byteLength(log_level + Object.entries(attributes).flat().join(""));
      const row = found.get(i);
      if (otherBytes >= rowBytesMax && message !== "") {
        expect(row).toBe(undefined);
        expect(refused).toContainEqual({
          line: i + 1,
          reason: `the row is longer than ${rowBytesMax} bytes`,
        });
        continue;
      }
      // The longest prefix of whole characters that fits.
      let expected = "";
      for (const character of message) {
        if (Buffer.byteLength(expected + character) + otherBytes > rowBytesMax) break;
        expected += character;
      }
      if (expected !== message) truncated++;
      expect(row?.message).toBe(expected);
      expect(row?.attributes).toEqual({
        ...attributes,
        ...(expected === message ? {} : { "svc.cut": String(Buffer.byteLength(message)) }),
      });
    }
    expect(truncated).toBeGreaterThan(50);
    expect([admissionCounts.truncated, admissionCounts.refusedLarge]).toEqual([truncated, refused.length]);
  });

  test("are refused by line unless truncation is on; bodies of other signals are never truncated", () => {
    const long = "x".repeat(3 * 2 ** 20);
    const rows = [{ message: "a" }, { message: long, body: long }, { message: "b" }];
    const reason = "the message is longer than 2097152 bytes";
    const withoutTruncation = decoded(
      rows.map(({ message }) => ({ message })),
      {},
    );
    expect([withoutTruncation.batch.rows, withoutTruncation.refused]).toEqual([2, [{ line: 2, reason }]]);
    expect([
      withoutTruncation.admissionCounts.refusedLarge,
      withoutTruncation.admissionCounts.truncated,
    ]).toEqual([1, 0]);
    const withTruncation = decoded(
      rows.map(({ message }) => ({ message })),
      { cutsLargeRows: true },
    );
    expect([
      withTruncation.batch.rows,
      withTruncation.refused,
      withTruncation.admissionCounts.truncated,
    ]).toEqual([3, [], 1]);
    const profiles = decoded([{ body: long }], { cutsLargeRows: true }, "profiles");
    expect([profiles.batch.rows, profiles.refused]).toEqual([0, [{ line: 1, reason }]]);
  });
});

describe("clock", () => {
  const minute = 60_000;
  const row = (offMs: number) => ({ timestamp: nowMs + offMs, message: String(offMs) });

  test("rows further off than accepted are refused; rows further off than the skew are counted", () => {
    const offsets = [-121, -120, -60, -11, -10, 0, 10, 11, 60, 61].map((minutes) => minutes * minute);
    const settings = { acceptPastMs: 120 * minute, acceptFutureMs: 60 * minute, clockSkewMs: 10 * minute };
    const { batch, refused, admissionCounts } = decoded(offsets.map(row), settings);
    expect(batch.rows).toBe(8);
    expect(refused).toEqual([
      { line: 1, reason: "the time is more than 2 hours behind the server's clock" },
      { line: 10, reason: "the time is more than an hour ahead of the server's clock" },
    ]);
    expect(admissionCounts).toMatchObject({
      refusedBehind: 1,
      refusedAhead: 1,
      skewedBehind: 3,
      skewedAhead: 2,
    });
  });

  test("offsets are compared to the nanosecond", () => {
    const at = (nanos: bigint) => ({ timeUnixNano: String(BigInt(nowMs) * 1_000_000n + nanos) });
    const hour = 3_600_000_000_000n;
    const settings = { acceptPastMs: 60 * minute, acceptFutureMs: 60 * minute };
    const { refused } = decoded([at(-hour), at(-hour - 1n), at(hour), at(hour + 1n)], settings);
    expect(refused.map(({ line }) => line)).toEqual([2, 4]);
  });

  test("rows before 1970 are refused under every setting", () => {
    const { refused } = decoded([{ timestamp: -1 }, { timestamp: 0 }], {
      acceptPastMs: 200 * 365 * 86_400_000,
    });
    expect(refused.map(({ line }) => line)).toEqual([1]);
  });
});
