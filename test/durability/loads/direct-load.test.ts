/** `svc ingest --direct` that is killed and begun again stores each line once, whatever memory each run may take. */
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openStore, verifyStore } from "../../../engine/index.ts";
import { startSvc } from "../../server/command/program.ts";
import { report, scaled, seededRandom, temporaryFolder } from "../campaign.ts";
import { searchAll } from "../rows/contents.ts";

/** Enough for several groups of lines where memory is least, and for a group of pieces where there is much. */
const lines = 100_000;
const startMs = Date.UTC(2026, 5, 3, 22);
/** The lines are of two days: some groups hold rows of both. */
const stepMs = 200;
const memories = ["440MiB", "600MiB", "2GiB"];

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

test("a load that is killed again and again stores each line once", async () => {
  const random = seededRandom("direct load");
  const folder = temporaryFolder();
  const file = join(folder, "app.jsonl");
  const text = Array.from({ length: lines }, (_, n) => JSON.stringify(lineOf(n)));
  writeFileSync(file, `${text.join("\n")}\n`);
  let killed = 0;
  for (let round = 0; round < scaled(1, 15); round++) {
    const dir = join(folder, `data-${round}`);
    const load = () => {
      const memory = memories[random.below(memories.length)]!;
      return startSvc(["ingest", "--direct", "--memory", memory, "--data", dir, file]);
    };
    for (let run = 0; run < 4; run++) {
      const grownBytes = bytesIn(dir) + 1 + random.below(1_500_000);
      const { child, ended } = load();
      while (child.exitCode === null && bytesIn(dir) < grownBytes) await sleep(2);
      await sleep(random.below(10));
      if (!child.kill("SIGKILL")) break;
      killed++;
      await ended;
    }
    const { code, out } = await load().ended;
    const [, taken, before] =
      /: ([\d,]+) rows taken, (?:([\d,]+) were there already, )?0 refused/.exec(out) ?? [];
    const count = (words = "0") => Number(words.replaceAll(",", ""));
    expect({ code, rows: count(taken) + count(before) }).toEqual({ code: 0, rows: lines });
    report(`direct load: killed ${killed} times; the last run added ${taken} rows`);
    await checkRows(dir);
    rmSync(dir, { recursive: true });
  }
}, 600_000);

/** Bytes that the files of a folder occupy; holes do not count. */
function bytesIn(dir: string): number {
  if (!existsSync(dir)) return 0;
  let bytes = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" }))
    bytes += (statSync(join(dir, name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  return bytes;
}

async function checkRows(dir: string): Promise<void> {
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
  expect((await verifyStore(dir)).damage).toEqual([]);
}
