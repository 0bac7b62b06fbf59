/** Counts the rows that the journal alone holds: those that no manifest counts as sealed. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { copyToSharedMemory, isInSharedMemory, openBatch } from "../batch/batch.ts";
import { openPart } from "../chunk/part.ts";
import { scanJournal } from "../journal/journal-reader.ts";
import type { JournalRecord } from "../journal/journal-record.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { Signal } from "../model/signal.ts";

/**
 * Rows of a journal by signal and day. Read the journal before the manifests: rows that a running store seals in between
 * then count as sealed, and none is missed.
 */
export class UnsealedRows {
  readonly #parts = new Map<Signal, Map<number, { rows: number; arrivalMin: number }[]>>();

  /** Adds the rows of a record. */
  add({ signal, frame, arrivalBase }: JournalRecord): void {
    for (const { day, bytes } of openBatch(isInSharedMemory(frame) ? frame : copyToSharedMemory(frame))) {
      const { header } = openPart(bytes, arrivalBase);
      const days = this.#parts.get(signal) ?? new Map<number, { rows: number; arrivalMin: number }[]>();
      this.#parts.set(signal, days);
      const parts = days.get(day) ?? [];
      days.set(day, parts);
      parts.push({ rows: header.rows, arrivalMin: header.arrivalMin + arrivalBase });
    }
  }

  /** Takes away the rows that a manifest counts as sealed. */
  seal(signal: Signal, day: number, arrivalSealed: number): void {
    const days = this.#parts.get(signal);
    const parts = days?.get(day)?.filter(({ arrivalMin }) => arrivalMin > arrivalSealed);
    if (parts !== undefined) days?.set(day, parts);
  }

  /** The rows of one signal, or of all, that are left. */
  count(signal?: Signal): number {
    const all = signal === undefined ? [...this.#parts.values()] : [this.#parts.get(signal) ?? new Map()];
    let rows = 0;
    for (const days of all) for (const parts of days.values()) for (const part of parts) rows += part.rows;
    return rows;
  }
}

/**
 * Reads the journal of the data folder `dir`: its rows, and what is damaged in it. Rejects with ENOENT where a running
 * store removed a segment meanwhile.
 */
export async function scanUnsealedRows(dir: string): Promise<{ rows: UnsealedRows; damage: DamageReport[] }> {
  const rows = new UnsealedRows();
  const journal = join(dir, "journal");
  if (!existsSync(journal)) return { rows, damage: [] };
  const { damage } = await scanJournal(journal, (_, record) => rows.add(record));
  return { rows, damage };
}

/** Times that a journal is read anew because a running store removed a segment. Chosen, not measured. */
const scansMax = 5;

/** Reads the rows of the journal of the data folder `dir`. */
export async function readUnsealedRows(dir: string): Promise<UnsealedRows> {
  for (let scan = 1; ; scan++) {
    try {
      return (await scanUnsealedRows(dir)).rows;
    } catch (error) {
      if (scan === scansMax || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}
