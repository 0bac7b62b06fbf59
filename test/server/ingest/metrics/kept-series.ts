/** Batches of samples whose series a thread keeps, against batches that keep them apart. */
import { expect } from "vitest";
import { ActiveSeries, type Sample, SampleBatchBuilder, SeriesMemory } from "../../../../engine/index.ts";
import type { BodyFormat } from "../../../../server/index.ts";
import { decodeBody } from "../../../../server/index.ts";
import { makeAdmissionPolicy } from "../../../../server/ingest/admission.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { makePlainTask } from "../decode-task.ts";

export const arrivalMs = 1_763_000_000_123;

const emptySet = (length: number) => new BigInt64Array(new SharedArrayBuffer(length * 8));
const emptyDay = (day: number) => ({
  day,
  slots: emptySet(32_768),
  counts: new Int32Array(new SharedArrayBuffer(8)),
});

/** A census of a store that has no series yet, and takes so many. */
function makeCensus(seriesMax: number) {
  return { seriesMax, today: emptyDay(1), yesterday: emptyDay(0), starts: emptySet(1_024) };
}

/** The memory of the expected batches: a new one every few bodies. */
let apart = new SeriesMemory();
let bodies = 0;

/** A builder like that of the task, whose series are kept apart from those of `decodeBody`. */
export function makeBuilderApart(task: BodyTask, seriesMax: number): SampleBatchBuilder {
  if (++bodies % 50 === 0) apart = new SeriesMemory();
  apart.beginBatch();
  const census = new ActiveSeries(makeCensus(seriesMax));
  return new SampleBatchBuilder({ ...makeAdmissionPolicy(task), census }, apart);
}

export interface SampleBody {
  format: BodyFormat;
  body: Buffer;
  seriesMax: number;
  more?: Partial<BodyTask>;
}

export function makeSampleTask({ format, body, seriesMax, more }: SampleBody): BodyTask {
  const content = { signal: "metrics", activeSeries: makeCensus(seriesMax) } as const;
  return { ...makePlainTask(body), content, format, arrivalMs, ...more };
}

/** Expects the batch of a body to be that of some points, each with its samples. Returns how many samples it has. */
export function checkSamples(sent: SampleBody, points: readonly (readonly Sample[])[]): number {
  const task = makeSampleTask(sent);
  const builder = makeBuilderApart(task, sent.seriesMax);
  const refused = points.flatMap((samples, i) => {
    let reason: string | undefined;
    for (const sample of samples) reason = builder.addSample(sample) ?? reason;
    return reason === undefined ? [] : [{ line: i + 1, reason }];
  });
  const decoded = decodeBody(task);
  if (!decoded.ok) throw new Error(decoded.message);
  const expected = builder.finish();
  expect(decoded.refused).toEqual(refused.slice(0, 100));
  expect(decoded.admissionCounts).toEqual(builder.counts);
  expect(decoded.batch.rows).toBe(expected.rows);
  expect(new Set(decoded.batch.starts)).toEqual(new Set(expected.starts));
  expect(Buffer.from(decoded.batch.bytes).equals(Buffer.from(expected.bytes))).toBe(true);
  return expected.rows;
}
