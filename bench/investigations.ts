/**
 * `node bench/investigations.ts [--evidence] DIR…`: investigates labelled faults. Each DIR holds a day: `logs.jsonl.gz`,
 * `spans.jsonl.gz`, `metrics.jsonl.gz`, and `faults.json`, a list of `{ injectedAt, pod, type }`. Prints for each fault
 * where its service stands among the suspects, and the shares of faults whose service is the first (AS@1) or among the
 * first three (AS@3). `--evidence` prints what speaks for each first one.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { openStore } from "../engine/index.ts";
import { baselineMsDefault, describeSuspect, type Investigation, investigate } from "../server/index.ts";
import { formatTable, makeRightColumns } from "./terminal/table.ts";

interface Fault {
  /** Unix milliseconds. */
  injectedAt: number;
  pod: string;
  type: string;
}

/** One fault and what was found of it. */
interface Case {
  type: string;
  /** Place of the faulty service among the suspects, from 1; 0 where it is none of them. */
  place: number;
  ms: number;
}

const windowMs = 180_000;
const root = join(import.meta.dirname, "..");
const words = process.argv.slice(2);
const days = words.filter((word) => !word.startsWith("--"));
if (days.length === 0) {
  console.log("Usage: node bench/investigations.ts [--evidence] DIR…");
  process.exit(words.includes("--help") ? 0 : 2);
}
for (const day of days) await evaluateDay(day);

async function evaluateDay(day: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
  try {
    for (const signal of ["logs", "spans", "metrics"])
      await load(dir, signal, join(day, `${signal}.jsonl.gz`));
    const faults = JSON.parse(await readFile(join(day, "faults.json"), "utf8")) as Fault[];
    printCases(basename(day), await investigateAll(dir, faults));
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function load(dir: string, signal: string, file: string): Promise<void> {
  const command = ["server/main.ts", "ingest", file, "--signal", signal, "--direct", "--data", dir];
  const child = spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.resume();
  // Some samples of a day may be refused: those that lie in the future.
  await once(child, "exit");
}

async function investigateAll(dir: string, faults: readonly Fault[]): Promise<Case[]> {
  const store = await openStore({ dir, threads: 2 });
  const cases: Case[] = [];
  for (const { injectedAt: startMs, pod, type } of faults) {
    const startedAtMs = performance.now();
    const incident = { startMs, endMs: startMs + windowMs, baselineMs: startMs - baselineMsDefault };
    const found = await investigate(store, incident);
    const ms = performance.now() - startedAtMs;
    const service = pod.replace(/-[0-9a-f]{6,10}-[a-z0-9]{5}$/, "");
    const place = 1 + found.suspects.findIndex((each) => each.service.split("/").at(-1) === service);
    console.log(`${place || "–"}  ${type} in ${service}: ${describe(found)}`);
    if (words.includes("--evidence")) printEvidence(found);
    cases.push({ type, place, ms });
  }
  await store.close();
  return cases;
}

function printEvidence({ suspects: [first] }: Investigation): void {
  if (first === undefined) return;
  for (const { sentence, query } of describeSuspect(first)) console.log(`     ${sentence}\n       ${query}`);
}

function describe({ suspects, spans, logs }: Investigation): string {
  const named = suspects.slice(0, 3).map(({ service, kind, score }) => {
    return `${service.split("/").at(-1)} (${kind}, ${score.toFixed(2)})`;
  });
  return `${named.join(", ") || "no suspect"}; ${spans} spans, ${logs} logs`;
}

function printCases(day: string, cases: readonly Case[]): void {
  const kinds = [...Map.groupBy(cases, ({ type }) => type), ["all", cases] as const];
  const share = (own: readonly Case[], most: number) => {
    const right = own.filter(({ place }) => place > 0 && place <= most).length;
    return `${Math.round((100 * right) / own.length)} %`;
  };
  const rows = kinds.map(([type, own]) => {
    const times = own.map(({ ms }) => ms).sort((a, b) => a - b);
    const middle = times[Math.floor(times.length / 2)]!;
    return [type, String(own.length), share(own, 1), share(own, 3), `${middle.toFixed(0)} ms`];
  });
  console.log(`\n${day}`);
  const columns = makeRightColumns(["fault", "faults", "AS@1", "AS@3", "median"]);
  process.stdout.write(`${formatTable(columns, rows)}\n`);
}
