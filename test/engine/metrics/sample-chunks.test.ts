/**
 * Properties of chunks of metrics: samples come back bit for bit, and merging chunks gives the same as encoding all
 * samples at once.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openBatch } from "../../../engine/batch/batch.ts";
import { SampleBatchBuilder } from "../../../engine/batch/sample-batch-builder.ts";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import type { ChunkSource, EncodedChunk } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { decodeValues, encodeValues } from "../../../engine/column/sample-values.ts";
import { plainColumns, plainHeap } from "../../../engine/kernels/heap.ts";
import { compactSamples } from "../../../engine/metrics/compact-samples.ts";
import { decodeSampleChunks } from "../../../engine/metrics/sample-chunk-decoder.ts";
import { encodeSampleChunks } from "../../../engine/metrics/sample-chunk-encoder.ts";
import { SeriesView } from "../../../engine/metrics/series-view.ts";
import type { Sample } from "../../../engine/model/sample.ts";

const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
const options = { seed, numRuns: 100 };
const title = (name: string) => `${name} (SVC_SEED=${seed})`;
const nowMs = Date.parse("2026-11-20T12:00:00Z");
const dayStart = BigInt(Date.parse("2026-11-20")) * 1_000_000n;

function bitsOf(values: Float64Array): bigint[] {
  return [...new BigUint64Array(values.slice().buffer)];
}

const anyBits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((bits) => ({ bits }));
const special = fc.constantFrom(
  0x8000000000000000n,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000000n,
  0x7ff0000000000002n,
  0xfff8000000000123n,
  1n,
  0n,
);
/** Lists of values, as bits, that between them need every kind of value encoding. */
const someValues = fc.oneof(
  fc.array(
    anyBits.map(({ bits }) => bits),
    { maxLength: 40 },
  ),
  fc.array(special, { maxLength: 60 }),
  fc
    .tuple(
      fc.constantFrom(1, 10, 1000, 256, 30),
      fc.array(fc.integer({ min: -1e9, max: 1e9 }), { maxLength: 60 }),
    )
    .map(([divisor, wholes]) => [
      ...new BigUint64Array(Float64Array.from(wholes, (w) => w / divisor).buffer),
    ]),
  fc
    .tuple(fc.double(), fc.double(), fc.array(fc.boolean(), { maxLength: 80 }))
    .map(([a, b, picks]) => [
      ...new BigUint64Array(Float64Array.from(picks, (pick) => (pick ? a : b)).buffer),
    ]),
  fc
    .array(fc.nat(2 ** 50), { maxLength: 30 })
    .map((steps) => [...new BigUint64Array(Float64Array.from(running(steps)).buffer)]),
);

/** Running sums. */
function running(steps: readonly number[]): number[] {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

describe("values of samples", () => {
  test(title("decode(encode(x)) = x, bit for bit"), { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.array(someValues, { maxLength: 8 }), (series) => {
        const values = new Float64Array(BigUint64Array.from(series.flat()).buffer);
        const offsets = new Uint32Array(series.length + 1);
        for (const [i, list] of series.entries()) offsets[i + 1] = offsets[i]! + list.length;
        const payload = { ...encodeValues(values, offsets), encoding: 10 };
        expect(bitsOf(decodeValues(payload, offsets, plainHeap))).toEqual(series.flat());
      }),
      options,
    );
  });

  test(title("series that are nearly multiples of others come back bit for bit, and are stored small"), {
    timeout: 60_000,
  }, () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-3, max: 1e6 }), {
          minLength: 40,
          maxLength: 60,
        }),
        fc.constantFrom(0.2, 20, 1 / 3, 1e-9, -4),
        (base, factor) => {
          const multiples = base.map((value, i) => value * factor * (i % 3 === 0 ? 1 + Number.EPSILON : 1));
          const values = Float64Array.from([...base, ...multiples]);
          const offsets = Uint32Array.of(0, base.length, base.length * 2);
          const encoded = encodeValues(values, offsets);
          const payload = { ...encoded, encoding: 10 };
          expect(bitsOf(decodeValues(payload, offsets, plainHeap))).toEqual(bitsOf(values));
          const bytes = encoded.buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
          expect(bytes).toBeLessThan(base.length * 10 + 64);
        },
      ),
      { ...options, numRuns: 50 },
    );
  });
});

const someSample: fc.Arbitrary<Sample> = fc.record({
  timeNs: fc
    .oneof(
      fc.nat(20).map((t) => t * 1_000_000_000),
      fc.nat(86_399_999_999),
    )
    .map((t) => dayStart + BigInt(t)),
  name: fc.constantFrom("a", "b_total", "ü", "a_total"),
  type: fc.constantFrom("gauge", "counter", "delta", "unknown"),
  unit: fc.constantFrom("", "s", "By"),
  labels: fc.dictionary(
    fc.constantFrom("pod", "node", "é", "__proto__x", "le"),
    fc.constantFrom("", "x", "y", "ß"),
    {
      maxKeys: 3,
    },
  ),
  value: fc.oneof(fc.double(), fc.integer({ min: 0, max: 5 }), fc.constantFrom(Number.NaN, -0, Infinity)),
});

function batchSources(samples: readonly Sample[], arrivalBase: number): ChunkSource[] {
  const builder = new SampleBatchBuilder({ nowMs });
  for (const sample of samples) expect(builder.addSample(sample)).toBeUndefined();
  return openBatch(builder.finish().bytes).map(({ bytes }) => openPart(bytes, arrivalBase));
}

/** One text for each series, with type, unit, labels and all samples. */
function contents(sources: readonly ChunkSource[]): string[] {
  return sources.flatMap((source) => {
    const chunk = new SeriesView(new ChunkView(new ChunkColumns(source, 0), plainColumns));
    return Array.from({ length: chunk.series }, (_, series) => {
      const labels = chunk.labels(series).sort();
      const samples = [...chunk.timesOf(series)].map((time, i) => [
        time,
        String(bitsOf(chunk.valuesOf(series))[i]),
      ]);
      return JSON.stringify([chunk.name(series), chunk.type(series), chunk.unit(series), labels, samples]);
    });
  });
}

/**
 * The same texts from the samples themselves: of equal times the last sample counts, of types and units the last
 * declared.
 */
function expected(samples: readonly Sample[]): string[] {
  const known = new Map<string, { sample: Sample; type: string; unit: string; at: Map<number, string> }>();
  for (const sample of samples) {
    const labels = Object.entries(sample.labels)
      .filter(([, value]) => value !== "")
      .sort();
    const key = JSON.stringify([sample.name, labels]);
    const series = known.get(key) ?? { sample, type: "unknown", unit: "", at: new Map() };
    known.set(key, series);
    if (sample.type !== "unknown") series.type = sample.type;
    if (sample.unit !== "") series.unit = sample.unit;
    series.at.set(Number(sample.timeNs - dayStart), String(bitsOf(Float64Array.of(sample.value))[0]));
  }
  return [...known].map(([key, { type, unit, at }]) => {
    const [name, labels] = JSON.parse(key) as [string, string[][]];
    return JSON.stringify([name, type, unit, labels, [...at].sort(([a], [b]) => a - b)]);
  });
}

function toSource(chunk: EncodedChunk): ChunkSource {
  const part = serializePart(chunk);
  const bytes = new Uint8Array(part.byteLength);
  writePart(part, bytes, 0);
  return openPart(bytes, 0);
}

describe("chunks of metrics", () => {
  test(title("hold what was appended; of equal times the last sample"), { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.array(someSample, { maxLength: 60 }), (samples) => {
        expect(contents(batchSources(samples, 0)).sort()).toEqual(expected(samples).sort());
      }),
      options,
    );
  });

  test(title("compact(chunks) = encode(all samples)"), { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(someSample, { maxLength: 30 }), { minLength: 1, maxLength: 5 }),
        (batches) => {
          let arrivalBase = 1;
          const sources = batches.flatMap((samples) => {
            const opened = batchSources(samples, arrivalBase);
            arrivalBase += samples.length;
            return opened;
          });
          const atOnce = encodeSampleChunks(decodeSampleChunks(batchSources(batches.flat(), 1)), {
            sealed: true,
          });
          const compacted = compactSamples(sources.slice(0, 2), { sealed: false }).map(toSource);
          const merged = compactSamples([...sources.slice(2), ...compacted], { sealed: true });
          expect(contents(merged.map(toSource))).toEqual(contents(atOnce.map(toSource)));
          expect(contents(merged.map(toSource)).sort()).toEqual(expected(batches.flat()).sort());
          const again = compactSamples(merged.map(toSource), { sealed: true });
          expect(again.map(({ payloads }) => payloads)).toEqual(merged.map(({ payloads }) => payloads));
        },
      ),
      options,
    );
  });
});
