/** Data sets of spans and of samples: those of Train Ticket where they are at hand, else generated ones. */
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { toSampleLine } from "../fixtures/sample.ts";
import { generateSamples } from "../fixtures/samples.ts";
import { toSpanLine } from "../fixtures/span.ts";
import { generateSpans } from "../fixtures/spans.ts";
import { perKind } from "./choice.ts";
import { type DatasetOptions, type Facts, type Questions, ValueCensus } from "./dataset.ts";
import type { StepProgress } from "./progress.ts";
import { counterKinds, gaugeKinds, type QuestionKind, spanKinds } from "./question.ts";
import { type SentSample, type SentSpan, trainTicketSamples, trainTicketSpans } from "./trainticket.ts";

export const signalSetNames = ["spans", "gauges", "counters"] as const;
export type SignalSetName = (typeof signalSetNames)[number];

/** A row as it is sent, and what the questions need to know of it. */
interface SentRow {
  line: string;
  timeMs: number;
  attributes: Readonly<Record<string, string>>;
  /** Of a metric that is asked for. */
  metric?: string;
}

interface Source {
  signal: "spans" | "metrics";
  batches: AsyncIterable<SentRow[]> | Iterable<SentRow[]>;
}

export const kindsOfSet: Readonly<Record<SignalSetName, readonly QuestionKind[]>> = {
  spans: spanKinds,
  gauges: gaugeKinds,
  counters: counterKinds,
};

const seed = 1;
const batchRows = 2000;
const seriesCount = 10_000;
const counterName = "http_requests_total";

export async function makeSignals(
  options: DatasetOptions & { name: SignalSetName },
  base: string,
  show: (progress: StepProgress) => void,
): Promise<{ facts: Facts; questions: Questions }> {
  const { name, rows } = options;
  const { signal, batches } = sourceOf(options);
  const file = `${base}.jsonl`;
  const lines = createWriteStream(file);
  const values = new ValueCensus();
  const metrics = new Set<string>();
  let [startMs, endMs, made] = [Number.POSITIVE_INFINITY, 0, 0];
  for await (const batch of batches) {
    for (const { timeMs, attributes, metric } of batch) {
      startMs = Math.min(startMs, timeMs);
      endMs = Math.max(endMs, timeMs);
      values.see(attributes);
      if (metric !== undefined) metrics.add(metric);
    }
    if (!lines.write(batch.map(({ line }) => `${line}\n`).join(""))) await once(lines, "drain");
    made += batch.length;
    show({ step: `make ${name}`, done: made, total: rows, unit: "rows" });
  }
  await finished(lines.end());
  const { size: fileBytes } = await stat(file);
  const facts: Facts = {
    ...{ name, signal, rows, file, fileBytes, textFile: "", startMs, endMs },
    attributes: values.counts(),
  };
  return { facts, questions: questionsOf(facts, kindsOfSet[name], [...metrics].sort()) };
}

/** All rows, in a range that begins a millisecond earlier every time; of metrics one after another. */
function questionsOf(
  { startMs, endMs }: Facts,
  kinds: readonly QuestionKind[],
  metrics: string[],
): Questions {
  const questions = kinds.map((kind) => [
    kind,
    Array.from({ length: perKind }, (_, at) => ({
      kind,
      text: metrics.length === 0 ? "" : metrics[at % metrics.length]!,
      startMs: startMs - at,
      endMs,
    })),
  ]);
  return Object.fromEntries(questions);
}

function sourceOf({ name, rows, trainTicketFile }: DatasetOptions & { name: SignalSetName }): Source {
  const real = (file: string): string | undefined => {
    const path = trainTicketFile === undefined ? "" : join(dirname(trainTicketFile), file);
    return existsSync(path) ? path : undefined;
  };
  switch (name) {
    case "spans": {
      const file = real("spans.jsonl.gz");
      const batches =
        file === undefined ? generatedSpans(rows) : sentSpans(trainTicketSpans(file, rows, batchRows));
      return { signal: "spans", batches };
    }
    case "gauges": {
      const file = real("metrics.jsonl.gz");
      const batches =
        file === undefined ? generatedSamples(rows) : sentSamples(trainTicketSamples(file, rows, batchRows));
      return { signal: "metrics", batches };
    }
    case "counters":
      return { signal: "metrics", batches: generatedSamples(rows, counterName) };
  }
}

function* generatedSpans(rows: number): Generator<SentRow[], void> {
  yield* inBatches(generateSpans({ seed, spans: rows }), (span) => ({
    line: toSpanLine(span),
    timeMs: Number(span.startNs / 1_000_000n),
    attributes: span.attributes,
  }));
}

async function* sentSpans(batches: AsyncIterable<SentSpan[]>): AsyncGenerator<SentRow[], void> {
  for await (const batch of batches) {
    yield batch.map((span) => ({
      line: JSON.stringify(span),
      timeMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
      attributes: span.attributes,
    }));
  }
}

/** All metrics of pods, or the series of one counter. */
function* generatedSamples(rows: number, metric?: string): Generator<SentRow[], void> {
  const asked = metric === undefined ? {} : { metric };
  const options = { seed, series: Math.min(seriesCount, Math.ceil(rows / 10)), samples: rows, ...asked };
  yield* inBatches(generateSamples(options), (sample) => ({
    line: toSampleLine(sample),
    timeMs: sample.timeMs,
    attributes: sample.labels,
    ...(sample.type === "gauge" || sample.name === metric ? { metric: sample.name } : {}),
  }));
}

/** What bears no type is a gauge. */
async function* sentSamples(batches: AsyncIterable<SentSample[]>): AsyncGenerator<SentRow[], void> {
  for await (const batch of batches) {
    yield batch.map((sample) => ({
      line: JSON.stringify(sample),
      timeMs: sample.timestamp,
      attributes: sample.labels,
      metric: sample.name,
    }));
  }
}

function* inBatches<T>(items: Iterable<T>, sent: (item: T) => SentRow): Generator<SentRow[], void> {
  let batch: SentRow[] = [];
  for (const item of items) {
    batch.push(sent(item));
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
