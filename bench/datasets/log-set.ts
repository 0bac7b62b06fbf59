/** Data sets of logs: generated ones, and the repeated day of Train Ticket. */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { generateBatches, type Profile } from "../../fixtures/logs.ts";
import { NeedleSurvey } from "../../fixtures/needles.ts";
import { type GeneratedRow, toJsonLine } from "../../fixtures/row.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { CardinalityCounter } from "./cardinality.ts";
import { batchRows, type DatasetFacts, type DatasetOptions, type DatasetQuestions, seed } from "./dataset.ts";
import { chooseQuestions } from "./question-choice.ts";
import { readTrainTicketRows } from "./train-ticket.ts";

/** Writes `<base>.jsonl` and `<base>.txt` and chooses the questions. */
export async function makeLogSet(
  options: DatasetOptions,
  base: string,
  show: ShowProgress,
): Promise<{ facts: DatasetFacts; questions: DatasetQuestions }> {
  const survey = await writeRows(options, base, show);
  const facts: DatasetFacts = {
    name: options.name,
    signal: "logs",
    rows: options.rows,
    file: `${base}.jsonl`,
    fileBytes: (await stat(`${base}.jsonl`)).size,
    textFile: `${base}.txt`,
    startMs: survey.startMs,
    endMs: survey.endMs,
    attributes: survey.cardinality.counts(),
    ...(options.name === "wide" ? { mapAttribute: "data" } : {}),
  };
  return { facts, questions: await chooseQuestions(facts, survey.needles, show) };
}

async function writeRows(
  { name, rows, trainTicketFile }: DatasetOptions,
  base: string,
  show: ShowProgress,
): Promise<RowSurvey> {
  const lines = createWriteStream(`${base}.jsonl`);
  const texts = createWriteStream(`${base}.txt`);
  const survey = new RowSurvey();
  let made = 0;
  const batches =
    name === "train-ticket"
      ? readTrainTicketRows(trainTicketFile!, rows, batchRows)
      : generateBatches({ profile: name as Profile, seed, rows }, batchRows);
  for await (const batch of batches) {
    for (const row of batch) survey.add(row);
    lines.write(batch.map((row) => `${toJsonLine(row)}\n`).join(""));
    texts.write(batch.map(({ message }) => `${message.replaceAll("\n", "\x01")}\n`).join(""));
    for (const stream of [lines, texts]) if (stream.writableNeedDrain) await once(stream, "drain");
    made += batch.length;
    show({ step: `make ${name}`, done: made, total: rows, unit: "rows" });
  }
  await Promise.all([finished(lines.end()), finished(texts.end())]);
  return survey;
}

/** Collects what the questions and the peers' schemas need to know of the rows. */
class RowSurvey {
  readonly needles = new NeedleSurvey();
  readonly cardinality = new CardinalityCounter();
  startMs = Number.POSITIVE_INFINITY;
  endMs = 0;

  add(row: GeneratedRow): void {
    this.needles.add(row);
    const ms = Number(row.timeNs / 1_000_000n);
    if (ms < this.startMs) this.startMs = ms;
    if (ms > this.endMs) this.endMs = ms;
    this.cardinality.add(row.attributes);
  }
}
