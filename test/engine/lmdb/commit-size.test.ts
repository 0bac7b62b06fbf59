/** Room for commits against LMDB itself: random transactions, each of which must find what it writes within the room taken. */
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

/** Many keys at once or few, of all lengths, values within pages and of many pages; most replace what is there, or remove it. */
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

test(`${transactions} commits append no more pages than there is room for (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed, 9);
  const dir = mkdtempSync(join(tmpdir(), "svc-commitroom-"));
  const data = join(dir, "data.mdb");
  let environment = openEnvironment(dir, { readOnly: false });
  const tree = new DataFile(data);
  const endBytes = () => (tree.readNewestMeta().lastPage + 1) * tree.pageBytes;
  for (let i = 0; i < transactions; i++) {
    const changes = randomChanges(random);
    const meta = tree.readNewestMeta();
    const keyChanges = Array.from(changes, ([key, value]) => ({
      value,
      currentOverflowPages: tree.find(meta, Buffer.from(key))?.overflow?.pages ?? 0,
    }));
    await environment.write((to) => {
      for (const [key, value] of changes) {
        if (value === undefined) to.remove(Buffer.from(key));
        else to.put(Buffer.from(key), value);
      }
    });
    const appended = tree.readNewestMeta().lastPage - meta.lastPage;
    expect(appended).toBeLessThanOrEqual(commitPagesMax(meta, keyChanges, tree.pageBytes));
    expect(statSync(data).size).toBeGreaterThanOrEqual(endBytes());
    expect(statSync(data).size).toBeLessThanOrEqual(endBytes() + 2 ** 20);
    if (!random.oneIn(20)) continue;
    await environment.close();
    expect(statSync(data).size).toBe(endBytes());
    environment = openEnvironment(dir, { readOnly: false });
  }
  await environment.close();
  tree.close();
  rmSync(dir, { recursive: true });
});
