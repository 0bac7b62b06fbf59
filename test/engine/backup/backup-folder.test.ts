/** A received stream is not trusted: whatever is wrong with it, no backup is written. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type BackupItem, encodeItem } from "../../../engine/backup/backup-stream.ts";
import { writeBackup } from "../../../engine/index.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-backup-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function* concatenate(...pieces: Iterable<Uint8Array>[]): AsyncGenerator<Uint8Array> {
  for (const some of pieces) yield* some;
}

test("a broken stream, or one that does not fit the disk, leaves nothing behind", async () => {
  const dir = join(folder, "backup");
  const start = { kind: "start", version: 1, takenAtMs: 0, bytesTotal: 100 } as const;
  const journal: BackupItem = { kind: "journal", seqNext: 1, arrivalNext: 1, segments: [], keys: [] };
  const state = { kind: "state" } as const;
  const escaping = { kind: "file", name: "../escaped" } as never;
  const broken: [AsyncIterable<Uint8Array>, RegExp][] = [
    [concatenate(), /ended before it was whole/],
    [concatenate([Buffer.from("<html>not at all</html>")]), /no backup of svc/],
    [concatenate(encodeItem(start)), /ended before it was whole/],
    [concatenate(encodeItem(start), encodeItem(journal), encodeItem(state)), /ended before it was whole/],
    [concatenate(encodeItem(start), encodeItem(state)), /out of order/],
    [
      concatenate(encodeItem(start), encodeItem(journal), encodeItem(state), encodeItem(escaping)),
      /names "\.\.\/escaped"/,
    ],
    [concatenate(encodeItem({ ...start, bytesTotal: 2 ** 52 })), /GB free and .* GB are needed/],
  ];
  for (const [pieces, problem] of broken) {
    await expect(writeBackup(pieces, dir, () => undefined)).rejects.toThrow(problem);
    expect(readdirSync(folder)).toEqual([]);
  }
  mkdirSync(dir);
  writeFileSync(join(dir, "mine"), "");
  await expect(writeBackup(concatenate(), dir, () => undefined)).rejects.toThrow(/is not empty/);
  expect(readdirSync(dir)).toEqual(["mine"]);
});

test("an item whose fields are not what its kind has is refused", async () => {
  const start = { kind: "start", version: 1, takenAtMs: 0, bytesTotal: 100 };
  const journal = { kind: "journal", seqNext: 1, arrivalNext: 1, segments: [], keys: [] };
  const manifest = { day: 1, version: 1, arrivalSealed: 0, chunkNext: 1, chunks: [], attributeKeys: [] };
  const partition = { kind: "partition", signal: "logs", day: 1, manifest };
  const wrong: unknown[][] = [
    ...[null, 1, [], {}, { kind: 1 }, { kind: "toString" }, { kind: "start" }].map((item) => [item]),
    [{ ...start, bytesTotal: "100" }],
    [start, { ...journal, segments: null }],
    [start, { ...journal, segments: [1] }],
    [start, { ...journal, arrivalNext: -1 }],
    [start, journal, { kind: "segment" }],
    [start, journal, { kind: "state" }, { ...partition, manifest: null }],
    [start, journal, { kind: "state" }, { ...partition, manifest: { ...manifest, chunks: [null] } }],
    [start, journal, { kind: "state" }, { ...partition, day: 1e15 }],
    [start, journal, { kind: "state" }, { ...partition, signal: "../logs" }],
    [start, journal, { kind: "state" }, { kind: "file", name: ["a"] }],
  ];
  const dir = join(mkdtempSync(join(folder, "items-")), "backup");
  for (const items of wrong) {
    const pieces = concatenate(...items.map((item) => encodeItem(item as BackupItem)));
    const failure = await writeBackup(pieces, dir, () => undefined).catch((error: unknown) => error);
    expect(failure, JSON.stringify(items)).toMatchObject({ name: "Failure", kind: "damage" });
  }
});
