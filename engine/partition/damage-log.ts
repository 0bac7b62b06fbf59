/** Damage found since the store was opened. */
import { relative } from "node:path";
import type { DamageReport } from "../model/damage-report.ts";

/** Reports kept for `stats`; all of them are logged. Chosen, not measured. */
const reportsMax = 1_000;

export class DamageLog {
  readonly #dir: string;
  readonly #log: (message: string) => void;
  readonly #reports: DamageReport[] = [];

  /** `dir`: the data folder, which paths in reports are relative to. */
  constructor(dir: string, log: (message: string) => void) {
    this.#dir = dir;
    this.#log = log;
  }

  get reports(): DamageReport[] {
    return [...this.#reports];
  }

  readonly report = (where: string, problem: string): void => {
    const report = { where: where.startsWith("/") ? relative(this.#dir, where) : where, problem };
    if (this.#reports.length < reportsMax) this.#reports.push(report);
    this.#log(`damage: ${report.where}: ${problem}`);
  };
}
