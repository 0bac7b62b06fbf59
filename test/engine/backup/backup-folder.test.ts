/** What comes over the line to be written as a backup is not to be trusted. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type BackupItem, toPieces } from "../../../engine/backup/backup-stream.ts";
import { writeBackup } from "../../../engine/index.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-backup-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function* of(...pieces: Iterable<Uint8Array>[]): AsyncGenerator<Uint8Array> {
  for (const some of pieces) yield* some;
}

test("what comes broken, or does not fit the disk, leaves nothing", async () => {
  const dir = join(folder, "backup");
  const start = { kind: "start", version: 1, takenAtMs: 0, bytesTotal: 100 } as const;
  const journal: BackupItem = { kind: "journal", seqNext: 1, arrivalNext: 1, segments: [], keys: [] };
  const state = { kind: "state" } as const;
  const escaping = { kind: "file", name: "../escaped" } as never;
  const broken: [AsyncIterable<Uint8Array>, RegExp][] = [
    [of(), /ended before it was whole/],
    [of([Buffer.from("<html>not at all</html>")]), /no backup of svc/],
    [of(toPieces(start)), /ended before it was whole/],
    [of(toPieces(start), toPieces(journal), toPieces(state)), /ended before it was whole/],
    [of(toPieces(start), toPieces(state)), /out of order/],
    [of(toPieces(start), toPieces(journal), toPieces(state), toPieces(escaping)), /names "\.\.\/escaped"/],
    [of(toPieces({ ...start, bytesTotal: 2 ** 52 })), /GB free and .* GB are needed/],
  ];
  for (const [pieces, problem] of broken) {
    await expect(writeBackup(pieces, dir, () => undefined)).rejects.toThrow(problem);
    expect(readdirSync(folder)).toEqual([]);
  }
  mkdirSync(dir);
  writeFileSync(join(dir, "mine"), "");
  await expect(writeBackup(of(), dir, () => undefined)).rejects.toThrow(/is not empty/);
  expect(readdirSync(dir)).toEqual(["mine"]);
});
