/** The lines that the loads store, and what a store must hold of them. */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openStore, verifyStore } from "../../../engine/index.ts";
import { searchAll } from "../rows/contents.ts";
import { isUnfinishedBatch } from "../rows/ledger.ts";

/** Enough for several groups of lines where memory is least, and for a group of pieces where there is much. */
export const lines = 100_000;
const startMs = Date.UTC(2026, 5, 3, 22);
/** The lines are of two days: some groups hold rows of both. */
const stepMs = 200;
export const memories = ["440MiB", "600MiB", "2GiB"];

/** Line `n` of the file: the same ones in each run. */
function lineOf(n: number): { timestamp: number; log_level: string; message: string; attributes: object } {
  return {
    timestamp: startMs + n * stepMs,
    log_level: n % 7 === 0 ? "error" : "info",
    message: `request ${n * 7919} of client-${n % 311} took ${(n * 31) % 977} ms at /api/v1/items/${n % 53}`,
    attributes: {
      n: String(n),
      service: `service-${n % 17}`,
      trace: (n * 2654435761).toString(16).padStart(16, "0"),
    },
  };
}

/** Writes the file of lines to a folder. */
export function writeLines(folder: string): string {
  const file = join(folder, "app.jsonl");
  const text = Array.from({ length: lines }, (_, n) => JSON.stringify(lineOf(n)));
  writeFileSync(file, `${text.join("\n")}\n`);
  return file;
}

/** Lines that a run of `svc ingest` stored, and that an earlier one had stored, as it says; undefined where it refused some. */
export function countsIn(out: string): { taken: number; before: number } | undefined {
  const [found, taken, before] =
    /: ([\d,]+) rows taken, (?:([\d,]+) were there already, )?0 refused/.exec(out) ?? [];
  const count = (words = "0") => Number(words.replaceAll(",", ""));
  return found === undefined ? undefined : { taken: count(taken), before: count(before) };
}

/** Bytes that the files of a folder occupy; holes do not count. */
export function bytesIn(dir: string): number {
  if (!existsSync(dir)) return 0;
  let bytes = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" }))
    bytes += (statSync(join(dir, name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  return bytes;
}

/** The store holds each line once, and nothing of it is damaged but a batch that a kill cut off. */
export async function checkRows(dir: string): Promise<void> {
  const store = await openStore({ dir, threads: 1 });
  const found = new Uint32Array(lines);
  const arrivals = new Set<number>();
  for await (const { arrival, attributes, level, message } of searchAll(store, 10_000)) {
    const n = Number(attributes.n);
    const expected = lineOf(n);
    expect({ level, message, attributes }).toEqual({
      ...{ level: expected.log_level, message: expected.message, attributes: expected.attributes },
    });
    found[n]!++;
    arrivals.add(arrival);
  }
  expect(found.every((times) => times === 1)).toBe(true);
  expect(arrivals.size).toBe(lines);
  await store.close();
  const { damage } = await verifyStore(dir);
  expect(damage.filter(({ where, problem }) => !isUnfinishedBatch(`${where}: ${problem}`))).toEqual([]);
}
