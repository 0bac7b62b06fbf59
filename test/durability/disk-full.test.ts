/**
 * On a full disk rows are refused with a clear error and queries are answered; with free space everything works without
 * a restart.
 */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import type { Fact, ScenePlan } from "./disk-full-scene.ts";

/** Starts a program with a small tmpfs in a mount namespace of its own; without root, also in a user namespace. */
// With the rows of many runs a small disk would be full in earnest: compacting a partition needs a copy of it.
const inSmallDisk = [
  "unshare",
  process.getuid?.() === 0 ? "-m" : "-rm",
  "sh",
  "-c",
  `mount -t tmpfs -o size=${scaled(24, 96)}m svc "$0" && exec "$@"`,
];

function canMount(): boolean {
  return spawnSync(inSmallDisk[0]!, [...inSmallDisk.slice(1), temporaryFolder(), "true"]).status === 0;
}

test("on a full disk rows are refused, nothing is lost, and with free space all works without a restart", async ({
  skip,
}) => {
  if (!canMount()) skip("neither root nor user namespaces: no small file system can be mounted");
  seededRandom("full disk");
  const mount = temporaryFolder();
  const plan: ScenePlan = { mount, seed, times: scaled(2, 60) };
  const child = new Child("disk-full-scene.ts", plan, { wrapper: [...inSmallDisk, mount] });
  const exit = await child.ended;
  expect(exit, child.stderr).toEqual({ code: 0, signal: null });
  const facts = child.lines.slice(0, -1).map((line) => JSON.parse(line) as Fact);
  const { journalBytes } = JSON.parse(child.lines.at(-1)!) as { journalBytes: number };
  for (const fact of facts) {
    const text = JSON.stringify(fact, null, 1);
    expect(fact.problems, text).toEqual([]);
    for (const { expected, found } of fact.rows) expect(found, text).toBe(expected);
    const answers = { append: /^disk-full: .*disk/, seal: /^done$|^disk-full: /, restart: /^done$/ };
    expect(fact.answer, text).toMatch(answers[fact.scene]);
  }
  const refused = facts.filter(({ answer }) => answer !== "done").length;
  // In spite of the failures, sealed rows were removed from the journal.
  expect(journalBytes).toBeLessThan(4 * 2 ** 20);
  report(`${facts.length} times on a full disk, ${refused} of them refused something`);
});
