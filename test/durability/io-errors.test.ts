/**
 * Writes, syncs, renames and truncations of the data folder that fail with an I/O error: what was acknowledged stays,
 * what failed is not acknowledged, and the process goes on. strace makes the calls fail.
 */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Failure, openState, openStore, verifyStore } from "../../engine/index.ts";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Driver } from "./driver.ts";
import { nowMs, rowsOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";
import { hasStrace } from "./trace.ts";

/** The calls by which journal, partitions and state change the disk. Other writes go to pipes. */
const calls = ["pwritev", "pwrite64", "fdatasync", "fsync", "rename", "ftruncate"] as const;

/** Runs a program whose calls of one kind fail in each thread: the `first`th, and then every `every`th. */
function failingWrapper(call: string, { first, every, error }: Fault): string[] {
  const inject = `inject=${call}:error=${error}:when=${first}+${every}`;
  return ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", `trace=${call}`, "-e", inject];
}

interface Fault {
  first: number;
  every: number;
  error: "EIO" | "ENOSPC" | "EROFS";
}

/** What a run under faults acknowledged. */
interface Acknowledged {
  batches: Set<number>;
  /** By id of an entry of the state: the last acknowledged value. */
  values: Map<string, number>;
  failures: number;
}

/** A command may fail with a Failure or an error of the system; the process must answer. */
async function tryRun<T>(work: Promise<T>, acknowledged: Acknowledged): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    acknowledged.failures++;
    if (
      !(error instanceof Failure) &&
      !/EIO|ENOSPC|EROFS|Input\/output|No space|Read-only/.test(String(error))
    )
      throw error;
    return undefined;
  }
}

async function runUnderFaults(dir: string, call: string, fault: Fault): Promise<Acknowledged> {
  const acknowledged: Acknowledged = { batches: new Set(), values: new Map(), failures: 0 };
  const driver = new Driver(seed, { wrapper: failingWrapper(call, fault) });
  const run = <T>(work: Promise<T>) => tryRun(work, acknowledged);
  for (let tries = 0; (await run(driver.run({ do: "open", dir }))) === undefined; tries++) {
    if (tries === 20) throw new Error(`the store does not open although only some calls of ${call} fail`);
  }
  for (let batch = 1; batch <= 12; batch++) {
    for (const { rows, failure } of (await run(driver.run({ do: "append", batches: [batch] }))) ?? []) {
      if (failure === undefined && rows !== undefined) acknowledged.batches.add(batch);
      else acknowledged.failures++;
    }
    const [id, value] = [`entry ${batch % 3}`, batch];
    if ((await run(driver.run({ do: "write-state", id, value }))) === null)
      acknowledged.values.set(id, value);
    if (batch % 4 === 0) await run(driver.run({ do: "seal" }));
  }
  await driver.kill();
  return acknowledged;
}

/** Every acknowledged batch is whole, no batch is torn or doubled, and the state holds what was acknowledged last. */
async function expectKept(dir: string, { batches, values }: Acknowledged): Promise<void> {
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  const contents = await readContents(store, seed);
  const state = await openState(join(dir, "control"));
  const stored = [...values.keys()].map((id) => [id, state.get("test", id)] as const);
  await state.close();
  await store.close();
  expect(contents.problems).toEqual([]);
  const whole = new Set(contents.batches.filter(({ isWhole }) => isWhole).map(({ batch }) => batch));
  expect([...batches].filter((batch) => !whole.has(batch))).toEqual([]);
  expect(contents.batches.filter(({ isWhole }) => !isWhole)).toEqual([]);
  // A write that failed may have reached the disk: then the value is a later one, never an earlier one.
  for (const [id, value] of stored) expect(value, id).toBeGreaterThanOrEqual(values.get(id)!);
  const lost = (await verifyStore(dir)).damage.filter(({ problem }) => /lost|missing/.test(problem));
  expect(lost).toEqual([]);
}

describe.skipIf(!hasStrace())("under strace (skipped where there is none)", () => {
  test.each(calls)("%s fails now and then", async (call) => {
    const random = seededRandom(`${call} fails`);
    for (let round = 0; round < scaled(1, 40); round++) {
      const dir = join(temporaryFolder(), "data");
      const fault = {
        first: random.between(1, 20),
        // More than an opening makes: otherwise no try to open the store could succeed.
        every: random.between(12, 24),
        error: random.pick(["EIO", "EIO", "ENOSPC", "EROFS"] as const),
      };
      const acknowledged = await runUnderFaults(dir, call, fault);
      report(`${call} ${JSON.stringify(fault)}: ${acknowledged.batches.size} of 12 batches acknowledged`);
      await expectKept(dir, acknowledged);
      const rows = [...acknowledged.batches].reduce((sum, batch) => sum + rowsOf(seed, batch).length, 0);
      expect(rows).toBeGreaterThanOrEqual(acknowledged.batches.size);
    }
  });
});
