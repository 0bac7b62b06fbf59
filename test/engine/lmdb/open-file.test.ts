/** A bit that flips in an environment that is open for writing: no write or close crashes, hangs or fills the disk. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { report, scaled, seed, temporaryFolder } from "../../durability/campaign.ts";

const cases = scaled(150, 5_000);
/** Cases of one process. */
const casesAtOnce = 500;

test(
  `${cases} flipped bits of open environments`,
  () => {
    const dir = temporaryFolder();
    const failures: string[] = [];
    for (let first = 0; first < cases; ) {
      const end = Math.min(cases, first + casesAtOnce);
      const words = [join(import.meta.dirname, "open-file-child.ts"), dir, seed, first, end].map(String);
      const { stdout, stderr, status, signal } = spawnSync(process.execPath, words, { encoding: "utf8" });
      if (status === 0) {
        first = end;
        continue;
      }
      const [last] = [...stdout.matchAll(/^case (\d+)$/gm)].slice(-1);
      if (last === undefined) throw new Error(`no case began: ${stderr}`);
      const problem =
        /^problem (.*)$/m.exec(stdout)?.[1] ?? `ended by ${signal ?? status}: ${stderr.slice(-300)}`;
      failures.push(`case ${last[1]}: ${problem}`);
      first = Number(last[1]) + 1;
    }
    report(
      `flips of open environments (SVC_SEED=${seed}): tried ${cases}, survived ${cases - failures.length}, ` +
        `lost ${failures.length}`,
    );
    expect(failures).toEqual([]);
  },
  scaled(60_000, 1_800_000),
);
