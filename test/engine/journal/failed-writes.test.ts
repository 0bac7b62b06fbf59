/** Journals whose disk fails for a moment, and segments that open and go at the same time. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FrameKind, writeFrame } from "../../../engine/files/frame.ts";
import { Journal } from "../../../engine/journal/journal.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-failed-writes-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

interface Opened {
  journal: Journal;
  /** Last byte of each batch. */
  published: number[];
  damage: string[];
}

async function openJournal(): Promise<Opened> {
  const [published, damage]: [number[], string[]] = [[], []];
  const journal = await Journal.open(
    {
      ...{ dir, queueBytesMax: 2 ** 30, lock: { check: () => undefined, writer: "0123456789abcdef" } },
      ...{ now: Date.now, elapsed: () => performance.now(), keyClock: Date.now },
      publish: ({ frame }) => void published.push(frame.at(-1)!),
      reportDamage: (where, problem) => void damage.push(`${where}: ${problem}`),
    },
    { seqMin: 1, arrivalMin: 1 },
  );
  return { journal, published, damage };
}

function append(journal: Journal, mark: number, bytes = 64): Promise<unknown> {
  // A batch without parts and keys, but for its last byte.
  const payload = Buffer.alloc(bytes);
  payload[bytes - 1] = mark;
  const frame = writeFrame(FrameKind.batch, new Uint8Array(0), payload);
  return journal.append({ signal: "logs", frame, rows: 10, keyHash: undefined, keyUntilMs: 0 });
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** Makes each call of these methods of files fail, after `write` has done its work, until the returned function is called. */
async function failFiles(...names: string[]): Promise<() => void> {
  const file = await open(join(dir, "any"), "w");
  const methods = Object.getPrototypeOf(file) as Record<string, Method>;
  await file.close();
  rmSync(join(dir, "any"));
  const before = names.map((name) => methods[name]!);
  for (const [i, name] of names.entries()) {
    methods[name] = async function (this: unknown, ...args) {
      if (name === "writev") await before[i]!.apply(this, args);
      throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    };
  }
  return () => {
    for (const [i, name] of names.entries()) methods[name] = before[i]!;
  };
}

test.each([{ isUsed: true }, { isUsed: false }])(
  "batches that follow a write whose remains could not be taken back are all there ($isUsed)",
  async ({ isUsed }) => {
    const { journal, published } = await openJournal();
    if (isUsed) await append(journal, 1);
    const repairFiles = await failFiles("writev", "truncate");
    const refused = await Promise.allSettled([append(journal, 2), append(journal, 3), append(journal, 4)]);
    repairFiles();
    expect(refused.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await append(journal, 5);
    await journal.close();
    const acknowledged = isUsed ? [1, 5] : [5];
    expect(published).toEqual(acknowledged);
    const again = await openJournal();
    expect([again.published, again.damage]).toEqual([acknowledged, []]);
    await append(again.journal, 6);
    await again.journal.close();
    const last = await openJournal();
    expect([last.published, last.damage]).toEqual([[...acknowledged, 6], []]);
    await last.journal.close();
  },
);

test("segments that are removed while another opens stay removed", async () => {
  const mebibyte = 2 ** 20;
  const { journal } = await openJournal();
  for (let mark = 1; mark <= 3; mark++) await append(journal, mark, 40 * mebibyte);
  const appended = append(journal, 4, 40 * mebibyte);
  await Promise.resolve();
  await Promise.resolve();
  await journal.removeSealedSegments(20);
  await appended;
  const names = readdirSync(dir).filter((name) => name.endsWith(".log"));
  const { segments } = journal.snapshot();
  expect(segments.map(({ name }) => name)).toEqual(names);
  await journal.close();
  const again = await openJournal();
  expect(again.damage).toEqual([]);
  expect(again.published).toEqual([3, 4]);
  await again.journal.close();
});
