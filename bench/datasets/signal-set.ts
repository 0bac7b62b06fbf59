/** Data sets of spans and of samples: Train Ticket's where they are at hand, else generated ones. */
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { toSampleLine } from "../../fixtures/sample.ts";
import { generateSamples } from "../../fixtures/samples.ts";
import { toSpanLine } from "../../fixtures/span.ts";
import { generateSpans } from "../../fixtures/spans.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { CardinalityCounter } from "./cardinality.ts";
import {
  batchRows,
  type DatasetFacts,
  type DatasetOptions,
  type DatasetQuestions,
  type SignalSetName,
  seed,
} from "./dataset.ts";
import { counterKinds, gaugeKinds, type QuestionKind, questionsPerKind, spanKinds } from "./question.ts";
import {
  readTrainTicketSamples,
  readTrainTicketSpans,
  type TrainTicketSample,
  type TrainTicketSpan,
} from "./train-ticket.ts";

/** A span or a sample as a line of the file, with the facts that the questions need. */
interface SignalRow {
  line: string;
  timeMs: number;
  attributes: Readonly<Record<string, string>>;
  /** The name of a metric that questions are about; absent for spans and for metrics without questions. */
  metric?: string;
}

interface Source {
  signal: "spans" | "metrics";
  batches: AsyncIterable<SignalRow[]> | Iterable<SignalRow[]>;
}

export const kindsOfSet: Readonly<Record<SignalSetName, readonly QuestionKind[]>> = {
  spans: spanKinds,
  gauges: gaugeKinds,
  counters: counterKinds,
};

const seriesCount = 10_000;
const counterName = "http_requests_total";

export async function makeSignalSet(
  options: DatasetOptions & { name: SignalSetName },
  base: string,
  show: ShowProgress,
): Promise<{ facts: DatasetFacts; questions: DatasetQuestions }> {
  const { name, rows } = options;
  const { signal, batches } = openSource(options);
  const file = `${base}.jsonl`;
  const lines = createWriteStream(file);
  const cardinality = new CardinalityCounter();
  const metrics = new Set<string>();
  let [startMs, endMs, made] = [Number.POSITIVE_INFINITY, 0, 0];
  for await (const batch of batches) {
    for (const { timeMs, attributes, metric } of batch) {
      startMs = Math.min(startMs, timeMs);
      endMs = Math.max(endMs, timeMs);
      cardinality.add(attributes);
      if (metric !== undefined) metrics.add(metric);
    }
    if (!lines.write(batch.map(({ line }) => `${line}\n`).join(""))) await once(lines, "drain");
    made += batch.length;
    show({ step: `make ${name}`, done: made, total: rows, unit: "rows" });
  }
  await finished(lines.end());
  const { size: fileBytes } = await stat(file);
  const facts: DatasetFacts = {
    ...{ name, signal, rows, file, fileBytes, textFile: "", startMs, endMs },
    attributes: cardinality.counts(),
  };
  return { facts, questions: makeQuestions(facts, kindsOfSet[name], [...metrics].sort()) };
}

/** Each question asks for all rows in a range that begins a millisecond earlier, and for another metric in turn. */
function makeQuestions(
  { startMs, endMs }: DatasetFacts,
  kinds: readonly QuestionKind[],
  metrics: string[],
): DatasetQuestions {
  const questions = kinds.map((kind) => [
    kind,
    Array.from({ length: questionsPerKind }, (_, at) => ({
      kind,
      text: metrics.length === 0 ? "" : metrics[at % metrics.length]!,
      startMs: startMs - at,
      endMs,
    })),
  ]);
  return Object.fromEntries(questions);
}

function openSource({ name, rows, trainTicketFile }: DatasetOptions & { name: SignalSetName }): Source {
  const real = (file: string): string | undefined => {
    const path = trainTicketFile === undefined ? "" : join(dirname(trainTicketFile), file);
    return existsSync(path) ? path : undefined;
  };
  switch (name) {
    case "spans": {
      const file = real("spans.jsonl.gz");
      const batches =
        file === undefined ? generateSpanRows(rows) : toSpanRows(readTrainTicketSpans(file, rows, batchRows));
      return { signal: "spans", batches };
    }
    case "gauges": {
      const file = real("metrics.jsonl.gz");
      const batches =
        file === undefined
          ? generateSampleRows(rows)
          : toSampleRows(readTrainTicketSamples(file, rows, batchRows));
      return { signal: "metrics", batches };
    }
    case "counters":
      return { signal: "metrics", batches: generateSampleRows(rows, counterName) };
  }
}

function* generateSpanRows(rows: number): Generator<SignalRow[], void> {
  yield* toBatches(generateSpans({ seed, spans: rows }), (span) => ({
    line: toSpanLine(span),
    timeMs: Number(span.startNs / 1_000_000n),
    attributes: span.attributes,
  }));
}

async function* toSpanRows(batches: AsyncIterable<TrainTicketSpan[]>): AsyncGenerator<SignalRow[], void> {
  for await (const batch of batches) {
    yield batch.map((span) => ({
      line: JSON.stringify(span),
      timeMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
      attributes: span.attributes,
    }));
  }
}

/** Generates samples of all metrics of pods, or of one counter alone. */
function* generateSampleRows(rows: number, metric?: string): Generator<SignalRow[], void> {
  const onlyMetric = metric === undefined ? {} : { metric };
  const options = { seed, series: Math.min(seriesCount, Math.ceil(rows / 10)), samples: rows, ...onlyMetric };
  yield* toBatches(generateSamples(options), (sample) => ({
    line: toSampleLine(sample),
    timeMs: sample.timeMs,
    attributes: sample.labels,
    ...(sample.type === "gauge" || sample.name === metric ? { metric: sample.name } : {}),
  }));
}

/** Train Ticket's samples carry no type, so all of them are gauges. */
async function* toSampleRows(batches: AsyncIterable<TrainTicketSample[]>): AsyncGenerator<SignalRow[], void> {
  for await (const batch of batches) {
    yield batch.map((sample) => ({
      line: JSON.stringify(sample),
      timeMs: sample.timestamp,
      attributes: sample.labels,
      metric: sample.name,
    }));
  }
}

function* toBatches<T>(items: Iterable<T>, toRow: (item: T) => SignalRow): Generator<SignalRow[], void> {
  let batch: SignalRow[] = [];
  for (const item of items) {
    batch.push(toRow(item));
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
