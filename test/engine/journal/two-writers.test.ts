/** verifyStore finds a journal that two processes wrote at once, and no fault with one that they wrote in turn. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { encodeBatch } from "../../../engine/batch/batch-builder.ts";
import { type LogRow, openStore, verifyStore } from "../../../engine/index.ts";
import { Journal } from "../../../engine/journal/journal.ts";
import type { JournalRecord } from "../../../engine/journal/journal-record.ts";

const nowMs = Date.UTC(2026, 0, 2);

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "svc-writers-"));
});
afterEach(() => rmSync(base, { recursive: true }));

function rowsOf(batch: number): LogRow[] {
  const timeNs = BigInt(nowMs) * 1_000_000n;
  return Array.from({ length: batch + 2 }, (_, i) => ({
    ...{ timeNs: timeNs + BigInt(i), level: "info", attributes: {} },
    message: `batch ${batch} row ${i}`,
  }));
}

describe("a journal that two processes wrote at once", () => {
  /** Opens a journal as a process does whose lock is not seen by others. */
  async function openJournal(dir: string, writer: string): Promise<Journal> {
    return Journal.open(
      {
        dir: join(dir, "journal"),
        publish: (_: JournalRecord) => undefined,
        reportDamage: () => undefined,
        queueBytesMax: 2 ** 28,
        lock: { check: () => undefined, writer: writer.repeat(16) },
        now: () => nowMs,
        elapsed: () => performance.now(),
        keyClock: () => nowMs,
      },
      { seqMin: 1, arrivalMin: 1 },
    );
  }

  async function write(journal: Journal, batch: number): Promise<void> {
    const { bytes, rows } = encodeBatch("logs", rowsOf(batch), { nowMs });
    await journal.append({ signal: "logs", frame: bytes, rows, keyHash: undefined, keyUntilMs: 0 });
  }

  test.each([
    ["one batch each", "ab"],
    ["in turn", "ababab"],
    ["the later one first", "ba"],
    ["one after the other, and the first again", "aabba"],
  ])("is found by verify: %s", async (_, order) => {
    const dir = join(base, "data");
    await (await openStore({ dir, threads: 1 })).close();
    const journals = { a: await openJournal(dir, "a"), b: undefined as Journal | undefined };
    await write(journals.a, 1);
    journals.b = await openJournal(dir, "b");
    for (const [i, name] of [...order].entries()) await write(journals[name as "a" | "b"]!, i + 2);
    const { damage } = await verifyStore(dir);
    expect(damage.map(({ problem }) => problem).join("; ")).toMatch(
      /two processes had the folder open for writing/,
    );
    await journals.b.close();
    await journals.a.close();
  });

  test("is told from one that they wrote one after the other", async () => {
    const dir = join(base, "data");
    await (await openStore({ dir, threads: 1 })).close();
    for (const [i, name] of [..."abcd"].entries()) {
      const journal = await openJournal(dir, name);
      await write(journal, i + 1);
      await journal.close();
    }
    expect((await verifyStore(dir)).damage).toEqual([]);
  });
});
