/** Which batches a folder must hold after its writers were killed, by what the writers reported alone. */

import type { Appended, ReadAnswer } from "../command.ts";
import { keyOf, rowsOf, signalOf } from "./batches.ts";

type Fate =
  /** Sent without an answer: it may be there as a whole or not at all. */
  | "unknown"
  /** Acknowledged, or found as a whole after a crash: it must stay. */
  | "present"
  /** Not found after a crash: it must not come back. */
  | "absent";

export class Ledger {
  readonly #seed: number;
  readonly #fates = new Map<number, Fate>();
  readonly #arrivalBases = new Map<number, number>();
  batchNext = 1;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get acknowledged(): number[] {
    return [...this.#fates].filter(([, fate]) => fate === "present").map(([batch]) => batch);
  }

  get rows(): number {
    return this.acknowledged.reduce((sum, batch) => sum + rowsOf(this.#seed, batch).length, 0);
  }

  /** All batches with a key, whatever their fate. */
  get keyed(): number[] {
    return [...this.#fates.keys()].filter((batch) => keyOf(this.#seed, batch) !== undefined);
  }

  /** Evaluates a writer's output lines; returns what it must not have reported. */
  addWriterLines(lines: readonly string[]): string[] {
    const problems: string[] = [];
    for (const line of lines) {
      const [word, number, rows] = line.split(" ");
      const batch = Number(number);
      if (word === "sent") this.#addSentBatch(batch);
      else if (word === "ack") {
        this.#fates.set(batch, "present");
        const count = rowsOf(this.#seed, batch).length;
        if (Number(rows) !== count) problems.push(`batch ${batch} of ${count} rows: ${line}`);
      } else if (word === "event") problems.push(line);
    }
    return problems.filter((problem) => !isUnfinishedBatch(problem));
  }

  addSent(batches: readonly number[]): void {
    for (const batch of batches) this.#addSentBatch(batch);
  }

  /** Evaluates answers to appends; returns what they must not report. */
  addAnswers(answers: readonly Appended[]): string[] {
    return answers.flatMap(({ batch, rows, duplicate, failure }) => {
      if (failure !== undefined) return [`batch ${batch}: ${failure}`];
      const wasKept = this.#fates.get(batch) === "present";
      this.#fates.set(batch, "present");
      const count = rowsOf(this.#seed, batch).length;
      if (rows !== count) return [`batch ${batch} of ${count} rows was acknowledged with ${rows}`];
      return wasKept && !duplicate ? [`batch ${batch} was taken a second time`] : [];
    });
  }

  /** Compares with the contents of a store that was opened again; decides the unknown fates. Returns all problems. */
  compare({ contents, stats, events }: ReadAnswer): string[] {
    const problems = [...contents.problems];
    const stored = new Map(contents.batches.map((batch) => [batch.batch, batch]));
    for (const { batch, signal, rows, isWhole, arrivalBase } of contents.batches) {
      const fate = this.#fates.get(batch);
      if (fate === undefined) problems.push(`batch ${batch} was never sent`);
      if (fate === "absent") problems.push(`batch ${batch} was gone and is back`);
      if (signal !== signalOf(batch)) problems.push(`batch ${batch} is among the ${signal}`);
      if (!isWhole) problems.push(`of batch ${batch} (${fate}) only ${rows} rows are there`);
      const earlier = this.#arrivalBases.get(batch) ?? arrivalBase;
      if (earlier !== arrivalBase)
        problems.push(`batch ${batch} arrived as ${earlier} and is now ${arrivalBase}`);
      this.#arrivalBases.set(batch, arrivalBase);
    }
    for (const [batch, fate] of this.#fates) {
      if (fate === "present" && !stored.has(batch))
        problems.push(`batch ${batch} was acknowledged and is gone`);
      this.#fates.set(batch, stored.has(batch) ? "present" : "absent");
    }
    if (stats.rows !== contents.rows)
      problems.push(`stats say ${stats.rows} rows, ${contents.rows} were read`);
    const reports = [...stats.damage.map(({ where, problem }) => `${where}: ${problem}`), ...events];
    return [...problems, ...reports.filter((text) => !isUnfinishedBatch(text))];
  }

  #addSentBatch(batch: number): void {
    this.batchNext = Math.max(this.batchNext, batch + 1);
    const fate = this.#fates.get(batch);
    if (fate === undefined || fate === "absent") this.#fates.set(batch, "unknown");
  }
}

/** The only damage that a crash may cause: a batch that was being written and was never acknowledged. */
export function isUnfinishedBatch(report: string): boolean {
  return report.includes("journal/") && report.includes("unfinished");
}
