/** What a folder must hold after its writers were killed: kept by a test, out of the writers' words alone. */
import { keyOf, rowsOf, signalOf } from "./batches.ts";
import type { Appended, ReadAnswer } from "./command.ts";

type Fate =
  /** Sent, and no answer came: it may be there whole, or not at all. */
  | "open"
  /** Acknowledged, or seen whole after a crash: it must stay. */
  | "kept"
  /** Seen to be absent after a crash: it must not come back. */
  | "gone";

export class Ledger {
  readonly #seed: number;
  readonly #fates = new Map<number, Fate>();
  readonly #arrivals = new Map<number, number>();
  batchNext = 1;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get acknowledged(): number[] {
    return [...this.#fates].filter(([, fate]) => fate === "kept").map(([batch]) => batch);
  }

  get rows(): number {
    return this.acknowledged.reduce((sum, batch) => sum + rowsOf(this.#seed, batch).length, 0);
  }

  /** Batches with a key, of any fate. */
  get keyed(): number[] {
    return [...this.#fates.keys()].filter((batch) => keyOf(this.#seed, batch) !== undefined);
  }

  /** Takes in what a writer said; returns what it should not have said. */
  hear(lines: readonly string[]): string[] {
    const problems: string[] = [];
    for (const line of lines) {
      const [word, number, rows] = line.split(" ");
      const batch = Number(number);
      if (word === "sent") this.#sent(batch);
      else if (word === "ack") {
        this.#fates.set(batch, "kept");
        const count = rowsOf(this.#seed, batch).length;
        if (Number(rows) !== count) problems.push(`batch ${batch} of ${count} rows: ${line}`);
      } else if (word === "event") problems.push(line);
    }
    return problems.filter((problem) => !isUnfinishedTail(problem));
  }

  sent(batches: readonly number[]): void {
    for (const batch of batches) this.#sent(batch);
  }

  heard(answers: readonly Appended[]): string[] {
    return answers.flatMap(({ batch, rows, duplicate, failure }) => {
      if (failure !== undefined) return [`batch ${batch}: ${failure}`];
      const wasKept = this.#fates.get(batch) === "kept";
      this.#fates.set(batch, "kept");
      const count = rowsOf(this.#seed, batch).length;
      if (rows !== count) return [`batch ${batch} of ${count} rows was acknowledged with ${rows}`];
      return wasKept && !duplicate ? [`batch ${batch} was taken a second time`] : [];
    });
  }

  /** Compares with what a store that was opened again holds; settles what was open. */
  compare({ contents, stats, events }: ReadAnswer): string[] {
    const problems = [...contents.problems];
    const found = new Map(contents.batches.map((batch) => [batch.batch, batch]));
    for (const { batch, signal, rows, isWhole, arrivalBase } of contents.batches) {
      const fate = this.#fates.get(batch);
      if (fate === undefined) problems.push(`batch ${batch} was never sent`);
      if (fate === "gone") problems.push(`batch ${batch} was gone and is back`);
      if (signal !== signalOf(batch)) problems.push(`batch ${batch} is among the ${signal}`);
      if (!isWhole) problems.push(`of batch ${batch} (${fate}) only ${rows} rows are there`);
      const before = this.#arrivals.get(batch) ?? arrivalBase;
      if (before !== arrivalBase)
        problems.push(`batch ${batch} arrived as ${before} and is now ${arrivalBase}`);
      this.#arrivals.set(batch, arrivalBase);
    }
    for (const [batch, fate] of this.#fates) {
      if (fate === "kept" && !found.has(batch)) problems.push(`batch ${batch} was acknowledged and is gone`);
      this.#fates.set(batch, found.has(batch) ? "kept" : "gone");
    }
    if (stats.rows !== contents.rows)
      problems.push(`stats say ${stats.rows} rows, ${contents.rows} were read`);
    const reports = [...stats.damage.map(({ where, problem }) => `${where}: ${problem}`), ...events];
    return [...problems, ...reports.filter((text) => !isUnfinishedTail(text))];
  }

  #sent(batch: number): void {
    this.batchNext = Math.max(this.batchNext, batch + 1);
    const fate = this.#fates.get(batch);
    if (fate === undefined || fate === "gone") this.#fates.set(batch, "open");
  }
}

/** The one thing that a crash leaves behind: a batch that was being written and never acknowledged. */
function isUnfinishedTail(report: string): boolean {
  return report.includes("journal/") && report.includes("unfinished");
}
