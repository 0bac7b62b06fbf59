/** Faults of the simulated system: each in a system, and in a store, of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../engine/index.ts";
import {
  type FaultKind,
  faultKinds,
  type Simulation,
  simulate,
} from "../../fixtures/simulation/simulation.ts";
import { decodeBody } from "../../server/index.ts";
import { type Case, runCase, type Window } from "./case.ts";
import type { DaySignal } from "./labelled-day.ts";

export interface SimulatedRun {
  /** Faults; the kinds take turns. */
  count: number;
  /** These alone; all where it is empty. */
  kinds: readonly string[];
  seed: number;
  noise: number;
  clockSkewMs: number;
  /** Moves each window. */
  shiftMs: number;
  loaded: readonly DaySignal[];
  print(each: Case): void;
}

const startMs = Date.UTC(2026, 0, 29);
const healthyMs = 4_200_000;
const faultMs = 240_000;
const windowMs = 180_000;
/** From here on, a window in the healthy time has enough before it. */
const healthyFromMs = 3_000_000;
const linesAtOnce = 20_000;

/** Runs faults, and before each of them two healthy windows of the same system. */
export async function simulateCases(run: SimulatedRun): Promise<{ faulty: Case[]; healthy: Case[] }> {
  const faulty: Case[] = [];
  const healthy: Case[] = [];
  for (let i = 0; i < run.count; i++) {
    const kind = faultKinds[i % faultKinds.length]!;
    if (run.kinds.length > 0 && !run.kinds.includes(kind)) continue;
    const cases = await simulateCase(run, kind, run.seed * 1_000 + i);
    for (const each of cases) {
      run.print(each);
      (each.fault === undefined ? healthy : faulty).push(each);
    }
  }
  return { faulty, healthy };
}

async function simulateCase(run: SimulatedRun, kind: FaultKind, seed: number): Promise<Case[]> {
  const { noise, clockSkewMs, shiftMs, loaded } = run;
  const simulation = simulate({ seed, startMs, healthyMs, faultMs, fault: kind, noise, clockSkewMs });
  const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const store = await openStore({ dir, threads: 2 });
  try {
    await load(store, simulation, loaded);
    const fromMs = startMs + healthyMs + shiftMs;
    const services = simulation.injected!.services.map((name) => name.split("/").at(-1)!);
    const fault = { startMs: startMs + healthyMs, type: kind, services };
    const windows: Window[] = [
      { startMs: startMs + healthyFromMs, endMs: startMs + healthyFromMs + windowMs },
      { startMs: startMs + healthyFromMs + windowMs, endMs: startMs + healthyFromMs + 2 * windowMs },
      { startMs: fromMs, endMs: fromMs + windowMs, fault },
    ];
    const cases: Case[] = [];
    for (const window of windows) cases.push(await runCase(store, window));
    return cases;
  } finally {
    await store.close();
    await rm(dir, { recursive: true });
  }
}

async function load(store: Store, simulation: Simulation, loaded: readonly DaySignal[]): Promise<void> {
  const { logs, spans, samples, resources } = simulation;
  if (loaded.includes("logs")) await append(store, "logs", logs);
  if (loaded.includes("spans")) await append(store, "traces", spans);
  if (!loaded.includes("metrics")) return;
  await appendSamples(store, samples);
  await append(store, "kubernetes_resources", resources);
}

async function appendSamples(store: Store, samples: Simulation["samples"]): Promise<void> {
  for (let at = 0; at < samples.length; at += linesAtOnce)
    await store.appendSamples(
      samples.slice(at, at + linesAtOnce).map(({ timestamp, ...sample }) => {
        return { ...sample, unit: "", timeNs: BigInt(timestamp) * 1_000_000n };
      }),
    );
}

async function append(
  store: Store,
  signal: "logs" | "traces" | "kubernetes_resources",
  rows: readonly object[],
): Promise<void> {
  for (let at = 0; at < rows.length; at += linesAtOnce) {
    const some = rows.slice(at, at + linesAtOnce);
    const text = some.map((row) => JSON.stringify(row)).join("\n");
    const decoded = decodeBody({
      content: { signal },
      format: "json lines",
      body: new Uint8Array(Buffer.from(text)),
      ...{ encoding: "identity", unpackedBytesMax: 1 << 30, arrivalMs: Date.now(), sender: "" },
      ...{ wantsContentKey: false, flattensJson: false, index: "" },
      families: { version: 0, json: new Uint8Array(new SharedArrayBuffer(2)) },
    });
    if (!decoded.ok || decoded.refused.length > 0)
      throw new Error(`rows of the simulation are refused: ${JSON.stringify(decoded).slice(0, 300)}`);
    await store.appendEncoded(decoded.batch);
  }
}
