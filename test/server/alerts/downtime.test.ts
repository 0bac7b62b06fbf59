/** Restarts and crashes at random, senders that repeat or not: what is told is what the rows stored in the end demand. */
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { compare } from "./rows/comparison.ts";
import { expectOutcome } from "./rows/model.ts";
import { anyScene, type Life } from "./rows/scene.ts";
import { dustMs, minute, RowsWorld, retryWaitMs, second } from "./rows/world.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const histories = process.env.SVC_SOAK === "1" ? 2_500 : 50;

test(`a fire that the stored rows demand is told, none that they forbid (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const sums = { fires: 0, gaps: 0 };
  for (let i = 0; i < histories; i++) {
    const random = new Random(seed + i);
    const scene = anyScene(random, { comesLate: false, bucketSeconds: random.pick([60, 60, 300]) });
    const world = new RowsWorld({ ...scene, random, lateRowsMs: random.pick([0, 60 * minute]) });
    await live(world, random);
    const where = `SVC_SEED=${seed + i} ${JSON.stringify(scene.alert.timeseries)}`;
    const { throughMs } = world.evaluator!.stateOf("a")!.details;
    const outcome = expectOutcome({ ...scene, gaps: world.gaps, endMs: throughMs! });
    compare(world, outcome, where);
    sums.fires += outcome.fires.length;
    sums.gaps += world.gaps.length;
  }
  console.log(`seed ${seed}: ${histories} histories, ${sums.gaps} downtimes, ${sums.fires} fires`);
  expect(sums.fires).toBeGreaterThan(histories / 4);
});

/** Half an hour to an hour of life, with some deaths, and then peace until all that was awaited has come. */
async function live(world: RowsWorld, random: Random): Promise<void> {
  await world.start();
  const lives: Life[] = Array.from({ length: random.between(1, 4) }, () => ({
    upMs: random.pick([20 * second, 4 * minute, 12 * minute]) + random.below(3 * minute),
    how: random.pick(["stop", "kill", "kill", "in a write"] as const),
    downMs: random.pick([1, second, 4 * second, 50 * second, 3 * minute, 14 * minute]) + random.below(second),
  }));
  for (const { upMs, how, downMs } of lives) {
    await world.runUntil(world.nowMs + upMs);
    if (how === "in a write" && !world.isDead) {
      world.dieInWrite(random.pick(["dies before", "dies after"] as const), random.below(3));
      await world.runUntil(world.nowMs + 2 * minute);
    }
    if (!world.isDead && how === "stop") await world.stop();
    else if (!world.isDead) world.kill();
    world.fallSilent(world.nowMs + downMs);
    await world.start();
  }
  await world.runUntil(Math.max(dustMs, world.nowMs + retryWaitMs + 15 * minute));
}
