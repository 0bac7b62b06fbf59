/**
 * `node bench/investigations.ts [flags] DIR…`: investigates labelled faults. Each DIR holds a day: `logs.jsonl.gz`,
 * `spans.jsonl.gz`, `metrics.jsonl.gz`, and `faults.json`, a list of `{ injectedAt, pod, type }`.
 *
 * Prints where the faulty service stands among the suspects: the shares of faults whose service is the first (AS@1), or
 * among the first three (AS@3), and how often an answer is given and right; then the same of windows between faults.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { openStore, type Store } from "../engine/index.ts";
import { windowOfFires } from "../server/index.ts";
import { type Case, describeCase, runCase, type Window } from "./investigations/case.ts";
import { printCosts } from "./investigations/cost.ts";
import { findEntryFires } from "./investigations/entry-alert.ts";
import { type LabelledFault, loadDay, readFaults, signals } from "./investigations/labelled-day.ts";
import { formatCalibration, formatFaults, formatHealthy, formatLeftOut } from "./investigations/report.ts";
import { simulateCases } from "./investigations/simulated.ts";

const windowMs = 180_000;
/** A fault is over, and its rows have ended, this long after its begin. */
const overMs = 330_000;
const usage = `Usage: node bench/investigations.ts [flags] DIR…
  --from-fire       investigates from the fire of an alert on what enters the system, instead of the true start
  --shift MINUTES   moves each window, such as -2 or 2
  --signals LIST    loads these alone, of ${signals.join(",")}
  --simulate N      investigates N faults of a simulated system, besides the days
  --noise N         multiplies the noise of the simulated system
  --kinds LIST      of these kinds alone, with commas
  --skew MS         by which clocks of its nodes differ at most; 2
  --seed N          of the simulated system; 1
  --cost            measures what investigations cost, and what searches beside them do
  --quiet           prints the tables alone`;

const { values: flags, positionals: days } = parseArgs({
  allowPositionals: true,
  options: {
    "from-fire": { type: "boolean" },
    shift: { type: "string", default: "0" },
    signals: { type: "string", default: signals.join(",") },
    simulate: { type: "string", default: "0" },
    noise: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    kinds: { type: "string", default: "" },
    skew: { type: "string", default: "2" },
    cost: { type: "boolean" },
    quiet: { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (flags.help === true || (days.length === 0 && flags.simulate === "0")) {
  console.log(usage);
  process.exit(flags.help === true ? 0 : 2);
}
const loaded = signals.filter((signal) => flags.signals.split(",").includes(signal));
const print = (each: Case) => {
  if (flags.quiet !== true) console.log(describeCase(each));
};
if (flags.cost === true) await measureCosts();
else for (const day of days) await evaluateDay(day);
if (flags.simulate !== "0") {
  const [count, noise, seed] = [Number(flags.simulate), Number(flags.noise), Number(flags.seed)];
  const kinds = flags.kinds.split(",").filter((kind) => kind !== "");
  const [clockSkewMs, shiftMs] = [Number(flags.skew), Number(flags.shift) * 60_000];
  const { faulty, healthy } = await simulateCases({
    count,
    kinds,
    noise,
    seed,
    clockSkewMs,
    shiftMs,
    loaded,
    print,
  });
  report(`${count} simulated faults, seed ${seed}, noise × ${noise}`, faulty, healthy);
}

/** All days in one store. */
async function measureCosts(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
  try {
    for (const day of days) await loadDay(day, dir, loaded);
    const faults = (await Promise.all(days.map(readFaults))).flat();
    const store = await openStore({ dir, threads: 2 });
    await printCosts(
      store,
      faults.map((fault) => windowFrom(fault, fault.startMs)),
    );
    await store.close();
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function evaluateDay(day: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
  try {
    await loadDay(day, dir, loaded);
    const faults = await readFaults(day);
    const store = await openStore({ dir, threads: 2 });
    const shiftMs = Number(flags.shift) * 60_000;
    const windows =
      flags["from-fire"] === true
        ? await windowsFromFires(store, faults)
        : faults.map((fault) => windowFrom(fault, fault.startMs + shiftMs));
    const faulty = await runAll(store, windows);
    const isOfFire = flags["from-fire"] === true;
    const healthy = await runAll(
      store,
      healthyWindows(faults).map((window) => ({ ...window, isOfFire })),
    );
    await store.close();
    report(`${basename(day)} (${loaded.join(", ")})`, faulty, healthy);
  } finally {
    await rm(dir, { recursive: true });
  }
}

function windowFrom(fault: LabelledFault, startMs: number): Window {
  return { startMs, endMs: startMs + windowMs, fault };
}

async function runAll(store: Store, windows: readonly Window[]): Promise<Case[]> {
  const cases: Case[] = [];
  for (const window of windows) {
    const done = await runCase(store, window);
    print(done);
    cases.push(done);
  }
  return cases;
}

/** For each fault the window of the first fire that it causes. */
async function windowsFromFires(store: Store, faults: readonly LabelledFault[]): Promise<Window[]> {
  const [first, last] = [faults[0]!.startMs, faults.at(-1)!.startMs];
  const fires = await findEntryFires(store, { startMs: first - 3_600_000, endMs: last + overMs });
  const found = faults.flatMap((fault) => {
    const fire = fires.find(
      ({ firedAtMs }) => firedAtMs > fault.startMs && firedAtMs < fault.startMs + overMs,
    );
    return fire === undefined
      ? []
      : [{ ...windowOfFires([fire], Number.POSITIVE_INFINITY), fault, isOfFire: true }];
  });
  console.log(`${found.length} of ${faults.length} faults make the alert fire`);
  return found;
}

/** Windows from ten minutes before the first fault to ten minutes after the last, as far as no fault is near. */
function healthyWindows(faults: readonly LabelledFault[]): Window[] {
  const starts = faults.map(({ startMs }) => startMs);
  const aroundMs = 600_000;
  const found: Window[] = [];
  for (let at = Math.min(...starts) - aroundMs; at < Math.max(...starts) + aroundMs; at += windowMs)
    if (starts.every((start) => start > at + windowMs || start + overMs < at))
      found.push({ startMs: at, endMs: at + windowMs });
  return found;
}

function report(title: string, faulty: readonly Case[], healthy: readonly Case[]): void {
  console.log(`\n${title}`);
  process.stdout.write(formatFaults(faulty));
  process.stdout.write(formatHealthy(healthy));
  process.stdout.write(`\nBy confidence\n${formatCalibration([...faulty, ...healthy])}`);
  process.stdout.write(`\nEach type left out\n${formatLeftOut(faulty, healthy)}\n`);
}
