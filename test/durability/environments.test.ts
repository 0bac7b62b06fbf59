/** A campaign of damaged LMDB files: see test/engine/lmdb/damage-campaign.ts. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { runDamageCampaign } from "../engine/lmdb/damage-campaign.ts";
import { report, scaled, seed, temporaryFolder } from "./campaign.ts";

/** Number of random environments. */
const environments = scaled(4, 100);
/** Damaged copies of each environment. */
const cases = scaled(60, 400);

test(`${environments * cases} damaged LMDB files: none ends a process, and writes destroy nothing`, async () => {
  const dir = join(temporaryFolder(), "environment");
  const result = await runDamageCampaign({ dir, seed, environments, cases });
  const { opened, refused, failures } = result;
  report(`SVC_SEED=${seed}: ${opened} opened, ${refused} refused, ${failures.length} failures`);
  expect(failures).toEqual([]);
  expect(opened).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
});
