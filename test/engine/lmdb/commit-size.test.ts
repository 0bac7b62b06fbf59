/** The bound of a commit's pages against LMDB itself: random transactions, none of which may append more pages. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commitPagesMax } from "../../../engine/lmdb/commit-size.ts";
import { DataFile } from "../../../engine/lmdb/data-file.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../kernels/kernel-cases.ts";

const transactions = 250;

/**
 * Few or many keys of all lengths, with values of less than a page and of many; most replace or remove an existing
 * value.
 */
function randomChanges(random: Random): Map<string, Uint8Array | undefined> {
  const count = random.oneIn(10) ? random.between(100, 600) : random.between(1, 12);
  const bytesMax = 2 ** random.below(count > 100 ? 13 : 19);
  const changes = new Map<string, Uint8Array | undefined>();
  for (let i = 0; i < count; i++) {
    const number = random.below(900);
    const key = `${number}`.padEnd(1 + ((number * 7919) % 400), "k");
    changes.set(key, random.oneIn(3) ? undefined : Buffer.alloc(random.below(bytesMax), number));
  }
  return changes;
}

test(`${transactions} commits append no more pages than are reserved (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed, 9);
  const dir = mkdtempSync(join(tmpdir(), "svc-commitroom-"));
  const data = join(dir, "data.mdb");
  let environment = openEnvironment(dir, { readOnly: false });
  const dataFile = new DataFile(data);
  const dataEndBytes = () => (dataFile.readNewestMeta().lastPage + 1) * dataFile.pageBytes;
  for (let i = 0; i < transactions; i++) {
    const changes = randomChanges(random);
    const meta = dataFile.readNewestMeta();
    const keyChanges = Array.from(changes, ([key, value]) => ({
      value,
      currentOverflowPages: dataFile.find(meta, Buffer.from(key))?.overflow?.pages ?? 0,
    }));
    await environment.write((to) => {
      for (const [key, value] of changes) {
        if (value === undefined) to.remove(Buffer.from(key));
        else to.put(Buffer.from(key), value);
      }
    });
    const appended = dataFile.readNewestMeta().lastPage - meta.lastPage;
    expect(appended).toBeLessThanOrEqual(commitPagesMax(meta, keyChanges, dataFile.pageBytes));
    expect(statSync(data).size).toBeGreaterThanOrEqual(dataEndBytes());
    expect(statSync(data).size).toBeLessThanOrEqual(dataEndBytes() + 2 ** 20);
    if (!random.oneIn(20)) continue;
    await environment.close();
    expect(statSync(data).size).toBe(dataEndBytes());
    environment = openEnvironment(dir, { readOnly: false });
  }
  await environment.close();
  dataFile.close();
  rmSync(dir, { recursive: true });
});
