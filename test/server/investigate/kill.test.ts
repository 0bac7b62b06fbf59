/** kill -9 in the middle of investigations: each fire is investigated once, each event is sent under one id. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openState } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { InvestigationRecords } from "../../../server/investigate/records.ts";
import { openReceiver } from "../notify/receiver.ts";
import type { SentTo } from "./fire-rig.ts";

const bundled = ["--import", join(import.meta.dirname, "../../bundled-layers.ts")];
const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const kills = process.env.SVC_SOAK === "1" ? 30 : 4;
const fires = kills * 10;

test(`each fire once, each event under one id (SVC_SEED=${seed})`, { timeout: 300_000 }, async () => {
  const random = new Random(seed);
  const dir = mkdtempSync(join(tmpdir(), "svc-kill-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const receiver = await openReceiver(200);
  const run = async (killMs: number | undefined): Promise<string> => {
    const plan = JSON.stringify({ dir, url: receiver.url, fires });
    const child = spawn(process.execPath, [...bundled, join(import.meta.dirname, "killed.ts"), plan], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (text) => {
      out += text;
      if (killMs !== undefined && out === "began\n") setTimeout(() => child.kill("SIGKILL"), killMs);
    });
    await once(child, "exit");
    return out;
  };
  for (let i = 0; i < kills; i++) await run(random.below(150));
  expect(await run(undefined)).toBe("began\ndone\n");
  const state = await openState(dir);
  onTestFinished(() => state.close());
  const found = new InvestigationRecords(state).list().map(({ investigation }) => investigation);
  expect(found.flatMap((each) => each.fires.map(({ fireId }) => fireId)).toSorted()).toHaveLength(fires);
  expect(new Set(found.flatMap((each) => each.fires.map(({ fireId }) => fireId))).size).toBe(fires);
  const sent = receiver.received.map(({ body }) => JSON.parse(body) as SentTo);
  const ids = Map.groupBy(sent, ({ fireId }) => fireId);
  expect(ids.size).toBe(fires);
  for (const [fireId, own] of ids)
    expect([fireId, new Set(own.map(({ id }) => id)).size]).toEqual([fireId, 1]);
});
