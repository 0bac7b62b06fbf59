import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { generateBatches, type LogOptions } from "../fixtures/logs.ts";
import { type Needle, type NeedleKind, NeedleSurvey } from "../fixtures/needles.ts";
import { plantedCount } from "../fixtures/planted.ts";
import { type GeneratedRow, toJsonLine } from "../fixtures/row.ts";
import type { BenchOptions } from "./options.ts";
import type { StepProgress } from "./progress.ts";

/** The rows that every system under test is given, as a file, and what to search for in them. */
export interface Workload {
  options: LogOptions;
  /** For stores that come and go. */
  dataFolder: string;
  /** JSON lines of the ingestion format. */
  file: string;
  /** What to search for, by kind; within a kind each is an equal of the others. */
  targets: Readonly<Record<QueryKind, readonly Target[]>>;
}

export interface Target {
  needle: Needle;
  /** Rows that hold it, where that is known by construction. */
  rowsHolding?: number;
  /** So many rows hold it that every answer has as many as were asked for. */
  fillsAnswer?: boolean;
}

/** A query of the benchmark: every repetition has a needle of its own. */
export type QueryKind = "rare" | "common" | "regex" | "service" | "trace";

const generatedAtATime = 2000;

/** Makes the rows, writes their file where it is not there from an earlier run, and surveys them. */
export async function prepareWorkload(
  { rows, dataFolder }: BenchOptions,
  show: (progress: StepProgress) => void,
): Promise<Workload> {
  const options: LogOptions = { profile: "system", seed: 1, rows };
  await mkdir(dataFolder, { recursive: true });
  const file = join(dataFolder, `${options.profile}-${options.seed}-${rows}.jsonl`);
  const unfinished = `${file}.tmp`;
  const out = existsSync(file) ? undefined : createWriteStream(unfinished);
  const survey = new NeedleSurvey();
  let made = 0;
  for (const batch of generateBatches(options, generatedAtATime)) {
    for (const row of batch) survey.see(row);
    if (out !== undefined && !out.write(linesOf(batch))) await once(out, "drain");
    made += batch.length;
    show({ step: "generate", done: made, total: rows, unit: "rows" });
  }
  if (out !== undefined) {
    await finished(out.end());
    await rename(unfinished, file);
  }
  return { options, dataFolder, file, targets: chooseTargets(survey, rows) };
}

function linesOf(rows: readonly GeneratedRow[]): string {
  return rows.map((row) => `${toJsonLine(row)}\n`).join("");
}

function chooseTargets(survey: NeedleSurvey, rows: number): Workload["targets"] {
  const of = (kind: NeedleKind): Target[] => survey.needles(kind).map((needle) => ({ needle }));
  const rare = of("rare")
    .map(({ needle }, word) => ({ needle, rowsHolding: plantedCount(word, rows) }))
    .filter(({ rowsHolding }) => rowsHolding > 0);
  const regex = rare.map(({ needle }) => ({ needle: asRegex(needle) }));
  // The rarest of the frequent ones stand in 0.3 % of the rows.
  const frequent = (kind: NeedleKind): Target[] =>
    of(kind).map((target) => ({ ...target, fillsAnswer: rows >= 100_000 }));
  return { rare, common: frequent("common"), regex, service: frequent("service"), trace: of("trace") };
}

/** An expression over static text that holds for about as few rows as a planted word. */
function asRegex({ text }: Needle): Needle {
  return { kind: "regex", text: `gate ${text.slice(0, 4)}[a-z]+${text.slice(-2)} evaluated` };
}

/** Some whole lines of the file, as they stand in it. */
export interface Lines {
  bytes: Buffer;
  rows: number;
}

/** The first `rows` lines of a file, `linesAtATime` at a time. */
export async function* readLines(
  file: string,
  rows: number,
  linesAtATime: number,
): AsyncGenerator<Lines, void> {
  let pending: Buffer[] = [];
  let pendingLines = 0;
  let left = rows;
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
    const chunk = piece as Buffer;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      pendingLines += 1;
      if (pendingLines < Math.min(linesAtATime, left)) continue;
      yield { bytes: Buffer.concat([...pending, chunk.subarray(from, at + 1)]), rows: pendingLines };
      left -= pendingLines;
      if (left === 0) return;
      pending = [];
      pendingLines = 0;
      from = at + 1;
    }
    pending.push(chunk.subarray(from));
  }
}
