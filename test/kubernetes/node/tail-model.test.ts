/**
 * Containers write, the kubelet rotates, the agent is killed and the hub fails: each record arrives once and whole.
 * `SVC_SOAK=1` takes ten million lines.
 */

import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Fault, HubDouble } from "./hub-double.ts";
import { LogWriter, RecordLedger, seededRandom } from "./log-writer.ts";

const isSoak = process.env.SVC_SOAK === "1";
const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const linesMin = isSoak ? 10_000_000 : 50_000;

const dir = mkdtempSync(join(tmpdir(), "svc-tail-"));
let agent: ChildProcess | undefined;
let hub: HubDouble | undefined;

afterEach(() => {
  agent?.kill("SIGKILL");
  hub?.close();
  rmSync(dir, { recursive: true, force: true });
});

test(`each line arrives once (SVC_SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  const root = join(dir, "pods");
  mkdirSync(root);
  const ledgers: RecordLedger[] = [];
  const byFolder = new Map<string, RecordLedger>();
  const writers: LogWriter[] = [];
  const addContainer = () => {
    const i = writers.length;
    const name = `shop_cart-${i}_0f5f63cd-5a4b-4c5d-9d5e-${String(i).padStart(12, "0")}/app`;
    const ledger = new RecordLedger();
    ledgers.push(ledger);
    byFolder.set(`cart-${i}`, ledger);
    writers.push(new LogWriter(root, name, random, ledger));
  };
  let isAway = false;
  const fault = (): Fault => {
    const chance = Math.random();
    if (isAway || chance < 0.05) return "refuse";
    return chance < 0.1 ? "take and cut off" : "none";
  };
  hub = new HubDouble((row) => byFolder.get(row.attributes["k8s.pod.name"]!)!.take(row), fault);
  const url = await hub.listen();
  let errors = "";
  let kills = 0;
  let killMs = performance.now() + 500;
  const start = () => {
    const child = fork(
      join(import.meta.dirname, "agent-process.ts"),
      [root, join(dir, "state"), url, "20", "10"],
      {
        execArgv: ["--no-warnings"],
        stdio: ["ignore", "inherit", "pipe", "ipc"],
      },
    );
    child.stderr!.on("data", (chunk) => {
      errors = (errors + chunk).slice(-4_000);
    });
    agent = child;
  };
  start();
  for (let i = 0; i < 4; i++) addContainer();
  const burst = isSoak ? 2_000 : 100;
  while (ledgers.reduce((sum, { lines }) => sum + lines, 0) < linesMin) {
    const writer = writers[Math.floor(random() * writers.length)]!;
    writer.burst(1 + Math.floor(random() * burst), true);
    if (random() < 0.01) writer.restart();
    writer.removeArrived();
    if (random() < 0.005 && writers.length < 12) addContainer();
    if (random() < (isAway ? 0.02 : 0.004)) isAway = !isAway;
    if (performance.now() > killMs) {
      agent!.kill("SIGKILL");
      kills++;
      // The process starts in 300 ms.
      killMs = performance.now() + 300 + random() * (isSoak ? 8_000 : 2_000);
      await sleep(random() * 50);
      start();
    }
    if (random() < 0.5) await sleep(random() * (isSoak ? 5 : 12));
    else await new Promise(setImmediate);
    // The disk of the node is finite.
    const behind = () => ledgers.reduce((sum, { count, arrived }) => sum + count - arrived, 0);
    if (behind() > (isSoak ? 500_000 : 60_000)) {
      isAway = false;
      await expect.poll(behind, { timeout: 60_000, interval: 20 }).toBeLessThan(burst * 20);
    }
  }
  isAway = false;
  const missing = () => ledgers.reduce((sum, { count, arrived }) => sum + count - arrived, 0);
  await expect
    .poll(missing, { timeout: isSoak ? 120_000 : 20_000, interval: 20 })
    .toBe(0)
    .catch(() => undefined);
  // What comes twice comes a moment later.
  await sleep(300);
  const wrong = ledgers.map((ledger) => ledger.wrong());
  const strangers = ledgers.map((ledger) => ledger.strangers);
  expect({ wrong, strangers }, errors).toEqual({
    wrong: wrong.map(() => []),
    strangers: wrong.map(() => []),
  });
  const lines = ledgers.reduce((sum, ledger) => sum + ledger.lines, 0);
  console.log(`${lines} lines, ${kills} kills, ${hub.batches} batches, ${hub.duplicates} of them sent again`);
  expect(kills).toBeGreaterThan(0);
  for (const writer of writers) writer.close();
});
