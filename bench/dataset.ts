import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { generateBatches } from "../fixtures/logs.ts";
import { NeedleSurvey } from "../fixtures/needles.ts";
import { type GeneratedRow, toJsonLine } from "../fixtures/row.ts";
import { chooseQuestions } from "./choice.ts";
import type { SetName } from "./options.ts";
import type { StepProgress } from "./progress.ts";
import { type Question, type QuestionKind, questionKinds } from "./question.ts";
import { makeSignals, type SignalSetName, signalSetNames } from "./signaldata.ts";
import { trainTicketRows } from "./trainticket.ts";

/** The rows that every system is given, and what they are asked. */
export interface Dataset {
  name: SetName | SignalSetName;
  /** Where the ingestion takes such rows. */
  signal: "logs" | "spans" | "metrics";
  rows: number;
  /** JSON lines of the ingestion format. */
  file: string;
  fileBytes: number;
  /** The messages of logs alone, one a line; line feeds within a message are replaced by the byte 1. */
  textFile: string;
  /** Of the rows' times, whole milliseconds. */
  startMs: number;
  endMs: number;
  /** Keys of attributes, and how many values each has: the schema that a careful owner of a peer would write. */
  attributes: Record<string, number>;
  /** Each question stands in the list of its kind, in the order in which all systems are asked; of other signals' kinds there are none. */
  questions: Record<QuestionKind, Question[]>;
}

export interface DatasetOptions {
  name: Dataset["name"];
  rows: number;
  dataFolder: string;
  /** The gzipped logs; spans and samples lie beside them. */
  trainTicketFile: string | undefined;
}

/** All of a data set but its questions. */
export type Facts = Omit<Dataset, "questions">;
export type Questions = Partial<Dataset["questions"]>;

const seed = 1;
const batchRows = 2000;
/** More values than these are not counted: the column is no longer a small dictionary. */
const valuesCounted = 10_000;

/** Makes the rows and the questions, or takes them from an earlier run of the same sources. */
export async function prepareDataset(
  options: DatasetOptions,
  show: (progress: StepProgress) => void,
): Promise<Dataset> {
  await mkdir(options.dataFolder, { recursive: true });
  const base = join(options.dataFolder, `${options.name}-${options.rows}-${await sourcesHash()}`);
  const known = `${base}.json`;
  if (existsSync(known)) return JSON.parse(await readFile(known, "utf8"));
  const { facts, questions } = isOfSignals(options)
    ? await makeSignals(options, base, show)
    : await makeLogs(options, base, show);
  const dataset: Dataset = { ...facts, questions: { ...noQuestions(), ...questions } };
  await writeFile(`${known}.tmp`, JSON.stringify(dataset));
  await rename(`${known}.tmp`, known);
  return dataset;
}

export function noQuestions(): Dataset["questions"] {
  return Object.fromEntries(questionKinds.map((kind) => [kind, []])) as unknown as Dataset["questions"];
}

function isOfSignals(options: DatasetOptions): options is DatasetOptions & { name: SignalSetName } {
  return signalSetNames.some((name) => name === options.name);
}

async function makeLogs(
  options: DatasetOptions,
  base: string,
  show: (progress: StepProgress) => void,
): Promise<{ facts: Facts; questions: Questions }> {
  const survey = await writeRows(options, base, show);
  const facts: Facts = {
    name: options.name,
    signal: "logs",
    rows: options.rows,
    file: `${base}.jsonl`,
    fileBytes: (await stat(`${base}.jsonl`)).size,
    textFile: `${base}.txt`,
    startMs: survey.startMs,
    endMs: survey.endMs,
    attributes: survey.values.counts(),
  };
  return { facts, questions: await chooseQuestions(facts, survey.needles, show) };
}

/** Of the code that makes rows and questions: other code, other files. */
async function sourcesHash(): Promise<string> {
  const hash = createHash("sha256");
  const fixtures = new URL("../fixtures/", import.meta.url).pathname;
  const names = (await readdir(fixtures, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
  const bench = ["dataset.ts", "choice.ts", "question.ts", "signaldata.ts", "trainticket.ts"];
  const files = [...names.map((name) => join(fixtures, name)), ...bench.map((name) => here(name))];
  for (const file of files) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 8);
}

function here(name: string): string {
  return new URL(name, import.meta.url).pathname;
}

async function writeRows(
  { name, rows, trainTicketFile }: DatasetOptions,
  base: string,
  show: (progress: StepProgress) => void,
): Promise<RowSurvey> {
  const lines = createWriteStream(`${base}.jsonl`);
  const texts = createWriteStream(`${base}.txt`);
  const survey = new RowSurvey();
  let made = 0;
  const batches =
    name === "train-ticket"
      ? trainTicketRows(trainTicketFile!, rows, batchRows)
      : generateBatches({ profile: name === "company" ? "company" : "system", seed, rows }, batchRows);
  for await (const batch of batches) {
    for (const row of batch) survey.see(row);
    lines.write(linesOf(batch));
    texts.write(textOf(batch));
    for (const stream of [lines, texts]) if (stream.writableNeedDrain) await once(stream, "drain");
    made += batch.length;
    show({ step: `make ${name}`, done: made, total: rows, unit: "rows" });
  }
  await Promise.all([finished(lines.end()), finished(texts.end())]);
  return survey;
}

function linesOf(rows: readonly GeneratedRow[]): string {
  return rows.map((row) => `${toJsonLine(row)}\n`).join("");
}

function textOf(rows: readonly GeneratedRow[]): string {
  return rows.map(({ message }) => `${message.replaceAll("\n", "\x01")}\n`).join("");
}

/** How many values each attribute has, up to some. */
export class ValueCensus {
  private readonly values = new Map<string, Set<string>>();

  see(attributes: Readonly<Record<string, string>>): void {
    for (const key in attributes) {
      const values = this.values.get(key) ?? new Set();
      if (values.size === 0) this.values.set(key, values);
      if (values.size < valuesCounted) values.add(attributes[key]!);
    }
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.values].map(([key, values]) => [key, values.size]));
  }
}

/** What is learnt of the rows as they go by. */
class RowSurvey {
  readonly needles = new NeedleSurvey();
  startMs = Number.POSITIVE_INFINITY;
  endMs = 0;
  readonly values = new ValueCensus();

  see(row: GeneratedRow): void {
    this.needles.see(row);
    const ms = Number(row.timeNs / 1_000_000n);
    if (ms < this.startMs) this.startMs = ms;
    if (ms > this.endMs) this.endMs = ms;
    this.values.see(row.attributes);
  }
}
