/** A full disk refuses rows with a clear error and goes on answering; with room again all goes on without a restart. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import type { Fact, ScenePlan } from "./disk-full-scene.ts";

/** A file system in memory, in a mount namespace that ends with the process; without root in a user namespace, too. */
const inSmallDisk = [
  "unshare",
  process.getuid?.() === 0 ? "-m" : "-rm",
  "sh",
  "-c",
  'mount -t tmpfs -o size=24m svc "$0" && exec "$@"',
];

function canMount(): boolean {
  return spawnSync(inSmallDisk[0]!, [...inSmallDisk.slice(1), temporaryFolder(), "true"]).status === 0;
}

test("on a full disk rows are refused, nothing is lost, and room heals it without a restart", async ({
  skip,
}) => {
  if (!canMount()) skip("neither root nor user namespaces: no small file system can be mounted");
  seededRandom("full disk");
  const mount = temporaryFolder();
  const plan: ScenePlan = { mount, seed, times: scaled(2, 60) };
  const child = new Child("disk-full-scene.ts", plan, { wrapper: [...inSmallDisk, mount] });
  const ending = await child.ended;
  expect(ending, child.stderr).toEqual({ code: 0, signal: null });
  const facts = child.lines.slice(0, -1).map((line) => JSON.parse(line) as Fact);
  const { journalBytes } = JSON.parse(child.lines.at(-1)!) as { journalBytes: number };
  for (const fact of facts) {
    const said = JSON.stringify(fact, null, 1);
    expect(fact.problems, said).toEqual([]);
    for (const { expected, found } of fact.rows) expect(found, said).toBe(expected);
    const answers = { append: /^disk-full: .*disk/, seal: /^done$|^disk-full: /, restart: /^done$/ };
    expect(fact.answer, said).toMatch(answers[fact.scene]);
  }
  const refused = facts.filter(({ answer }) => answer !== "done").length;
  // Sealed rows have left the journal, failures on the way notwithstanding.
  expect(journalBytes).toBeLessThan(4 * 2 ** 20);
  report(`${facts.length} times on a full disk, ${refused} of them refused something`);
});
