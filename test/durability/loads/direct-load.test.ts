/** `svc ingest --direct` that is killed and begun again stores each line once, whatever memory each run may take. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startSvc } from "../../server/command/program.ts";
import { report, scaled, seededRandom, temporaryFolder } from "../campaign.ts";
import { bytesIn, checkRows, countsIn, lines, memories, writeLines } from "./lines.ts";

test("a load that is killed again and again stores each line once", async () => {
  const random = seededRandom("direct load");
  const folder = temporaryFolder();
  const file = writeLines(folder);
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
    const counts = countsIn(out);
    expect({ code, rows: counts && counts.taken + counts.before }).toEqual({ code: 0, rows: lines });
    report(`direct load: killed ${killed} times; the last run added ${counts?.taken} rows`);
    await checkRows(dir);
    rmSync(dir, { recursive: true });
  }
}, 600_000);
