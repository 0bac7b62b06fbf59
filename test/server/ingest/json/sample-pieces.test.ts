/** Several pieces of metric rows, read into one batch, against the same lines read as one body. */

import { expect, test } from "vitest";
import { Random } from "../../../../fixtures/random.ts";
import { decodeBody } from "../../../../server/index.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { shareJson } from "../../../../server/ingest/shared-memory-json.ts";
import { arrivalMs, makeSampleTask } from "../metrics/kept-series.ts";
import { splitBatch, toPieces } from "./piece-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function drawLine(random: Random, isValid: boolean): Buffer {
  const odd = ["no JSON", '{"name":"x"}', "", '{"name":"x","value":1,"timestamp":"never"}'];
  if (random.oneIn(12)) return Buffer.from(random.pick(odd));
  if (!isValid && random.oneIn(20)) return Buffer.from('{"name":"\xff","value":1}', "latin1");
  const common = {
    name: random.pick(["cpu", "requests", "größe"]),
    labels: { pod: `p${random.below(30)}`, nested: random.oneIn(9) ? { a: 1 } : undefined },
    timestamp: random.oneIn(30)
      ? undefined
      : arrivalMs - random.below(2) * 86_400_000 - random.below(90) * 1_000,
  };
  const histogram = { type: "histogram", bounds: [1, 5], counts: [1, 2, random.below(9)], sum: 7, count: 12 };
  const number = { type: random.pick(["counter", "gauge"]), value: random.below(1_000) / 8 };
  return Buffer.from(JSON.stringify({ ...common, ...(random.oneIn(10) ? histogram : number) }));
}

function decode(body: Uint8Array, seriesMax: number, more: Partial<BodyTask>) {
  const decoded = decodeBody(
    makeSampleTask({ format: "json lines", body: Buffer.from(body), seriesMax, more }),
  );
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded;
}

test(`pieces of metric rows give the same batch, counts and refused lines as one body (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  let samples = 0;
  for (let round = 0; round < 150; round++) {
    const linesMax = round % 15 === 0 ? 2_000 : 12;
    const isValid = !random.oneIn(3);
    const groups = Array.from({ length: 1 + random.below(6) }, () =>
      Array.from({ length: 1 + random.below(linesMax) }, () => drawLine(random, isValid)),
    );
    const bounds = { clockSkewMs: 60_000, acceptPastMs: random.oneIn(2) ? 400 * 86_400_000 : 30_000 };
    const settings = { admission: { settings: bounds, environment: "main", rules: shareJson([]) } };
    const seriesMax = isValid ? random.pick([5, 500]) : 500;
    const whole = Buffer.concat(toPieces(groups).map(({ bytes }) => bytes));
    const one = decode(whole, seriesMax, settings);
    const several = decode(Buffer.alloc(0), seriesMax, { ...settings, pieces: toPieces(groups) });
    expect(several.refused).toEqual(one.refused);
    expect(several.refusedByKind.toSorted()).toEqual(one.refusedByKind.toSorted());
    expect(several.admissionCounts).toEqual(one.admissionCounts);
    expect(several.batch.rows).toBe(one.batch.rows);
    const made = splitBatch(several.batch.bytes);
    // Pieces with bytes that are no text are read in another way, which puts series in another order.
    if (isValid) {
      expect(several.batch.starts).toEqual(one.batch.starts);
      expect(made.rest.equals(splitBatch(one.batch.bytes).rest)).toBe(true);
    }
    expect(made.keys.map(({ hash }) => hash)).toEqual(toPieces(groups).map(({ keyHash }) => keyHash));
    expect(made.keys.reduce((sum, { rows }) => sum + rows, 0)).toBe(one.batch.rows);
    if (seriesMax === 500) {
      const alone = toPieces(groups).map(({ bytes }) => decode(bytes, seriesMax, settings).batch.rows);
      expect(made.keys.map(({ rows }) => rows)).toEqual(alone);
    }
    samples += one.batch.rows;
  }
  expect(samples).toBeGreaterThan(2_000);
});
