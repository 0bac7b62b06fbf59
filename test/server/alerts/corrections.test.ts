/** Rows that come late at random, and deaths in writes: what is told comes to what all rows together demand. */
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { compare } from "./rows/comparison.ts";
import { expectOutcome } from "./rows/model.ts";
import { anyScene } from "./rows/scene.ts";
import { dustMs, minute, RowsWorld } from "./rows/world.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const histories = process.env.SVC_SOAK === "1" ? 2_500 : 50;

test(`late rows end in the fires that all rows demand, each told once (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const sums = { fires: 0, corrected: 0, takenBack: 0, deaths: 0 };
  for (let i = 0; i < histories; i++) {
    const random = new Random(seed + i);
    const scene = anyScene(random, { comesLate: true, bucketSeconds: random.pick([120, 300]) });
    const world = new RowsWorld({ ...scene, random, lateRowsMs: 120 * minute });
    sums.deaths += await live(world, random);
    const where = `SVC_SEED=${seed + i} ${JSON.stringify(scene.alert.timeseries.evaluationRules[0]!.static)}`;
    const { throughMs } = world.evaluator!.stateOf("a")!.details;
    const outcome = expectOutcome({ ...scene, gaps: world.gaps, endMs: throughMs! });
    compare(world, outcome, where);
    sums.fires += outcome.fires.length;
    sums.corrected += world.fires().filter(({ corrected }) => corrected === true).length;
    sums.takenBack += world.fires().filter(({ reason }) => reason === "corrected").length;
  }
  console.log(`seed ${seed}: ${histories} histories, ${JSON.stringify(sums)}`);
  expect(sums.fires).toBeGreaterThan(histories / 4);
  expect(sums.corrected).toBeGreaterThan(histories / 8);
  expect(sums.takenBack).toBeGreaterThan(histories / 40);
});

/** An hour and a half, in which it may die in writes and is back at once, and then peace. Returns the number of deaths. */
async function live(world: RowsWorld, random: Random): Promise<number> {
  await world.start();
  let deaths = 0;
  for (let i = random.below(5); i > 0; i--) {
    await world.runUntil(world.nowMs + random.between(2, 18) * minute);
    world.dieInWrite(random.pick(["dies before", "dies after"] as const), random.below(4));
    await world.runUntil(world.nowMs + 4 * minute);
    if (!world.isDead) continue;
    deaths++;
    world.fallSilent(world.nowMs + 1);
    await world.start();
  }
  await world.runUntil(dustMs);
  return deaths;
}
