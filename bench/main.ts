/** `npm run bench`: measures svc and its peers on the same rows in the same run. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type BenchOptions, readOptions, storesFolderOf, usage } from "./command/options.ts";
import { type BenchDataset, signalSetNames } from "./datasets/dataset.ts";
import { prepareDataset } from "./datasets/preparation.ts";
import { kindsOfSet } from "./datasets/signal-set.ts";
import { countTrainTicketDayRows } from "./datasets/train-ticket.ts";
import type { KernelFigure } from "./kernels/figure.ts";
import { measureConcurrency } from "./load-tests/concurrency.ts";
import { measureAppends, measureHttpLoads } from "./load-tests/ingest.ts";
import { measureMixed } from "./load-tests/mixed.ts";
import { measureBandwidth } from "./measure/bandwidth.ts";
import { readMachine } from "./measure/machine.ts";
import { projectRoot } from "./paths.ts";
import { listMissedAims } from "./report/aims.ts";
import { formatReport, type Report } from "./report/report.ts";
import { measureQueries, measureSizes } from "./runner/query-rounds.ts";
import { installPeers } from "./systems/peer-packages.ts";
import { ProgressLine, type ShowProgress } from "./terminal/progress.ts";

/** Kinds of vectors whose kernels are measured: those that filter and group. */
const kernelKinds = "codes,numbers,ids";

async function measure(options: BenchOptions, show: ShowProgress): Promise<Report> {
  await installPeers(options.peers, show);
  // An aborted run may have left stores.
  await rm(storesFolderOf(options), { recursive: true, force: true });
  await mkdir(storesFolderOf(options), { recursive: true });
  const report: Report = {
    at: new Date().toISOString(),
    machine: readMachine(),
    rounds: options.rounds,
    bandwidth: await measureBandwidth(),
    sets: [],
    sizes: [],
    ingest: [],
    kernels: [],
  };
  const has = (part: BenchOptions["parts"][number]): boolean => options.parts.includes(part);
  if (has("queries")) {
    for (const name of options.sets) {
      const rows = name === "wide" ? Math.ceil(options.rows / 4) : options.rows;
      const dataset = await prepareSet(options, name, rows, show);
      report.sets.push({ ...toSetHead(dataset), systems: await measureQueries(options, dataset, show) });
    }
  }
  if (has("size") && options.trainTicketFile !== undefined && options.sets.includes("train-ticket")) {
    const rows = Math.min(options.rows, await countTrainTicketDayRows(options.trainTicketFile));
    const dataset = await prepareSet(options, "train-ticket", rows, show);
    report.sizes.push({ ...toSetHead(dataset), systems: await measureSizes(options, dataset, show) });
  }
  if (has("signals")) {
    const names = signalSetNames.filter((name) =>
      kindsOfSet[name].some((kind) => options.kinds.includes(kind)),
    );
    for (const name of names) {
      const rows = name === "spans" ? options.rows : Math.ceil(options.rows / 2);
      const dataset = await prepareSet(options, name, rows, show);
      report.sets.push({ ...toSetHead(dataset), systems: await measureQueries(options, dataset, show) });
    }
  }
  await measureServer(options, report, show);
  if (has("kernels")) report.kernels = await measureKernels(show);
  return report;
}

/** Measures svc without peers: ingestion, reads beside writes, and many clients at once. */
async function measureServer(options: BenchOptions, report: Report, show: ShowProgress): Promise<void> {
  const { parts, rows } = options;
  const stores = storesFolderOf(options);
  const alone = ["ingest", "mixed", "concurrency"] as const;
  if (!alone.some((part) => parts.includes(part))) return;
  const dataset = await prepareSet(options, "system", rows, show);
  if (parts.includes("ingest")) {
    report.ingest = [
      ...(await measureAppends(stores, rows, show)),
      ...(await measureHttpLoads(stores, dataset, projectRoot, show)),
    ];
  }
  if (parts.includes("mixed")) report.mixed = await measureMixed(stores, dataset, projectRoot, show);
  if (parts.includes("concurrency")) {
    report.concurrency = await measureConcurrency(stores, dataset, projectRoot, show);
  }
}

/** Runs `kernels.ts` in a process of its own, over vectors of 256 MiB. */
async function measureKernels(show: ShowProgress): Promise<KernelFigure[]> {
  const args = ["--mb", "256", "--rounds", "5", "--only", kernelKinds];
  const child = fork(new URL("kernels.ts", import.meta.url), args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const figures: KernelFigure[] = [];
  child.on("message", (figure: KernelFigure) => {
    figures.push(figure);
    show({ step: "kernels", done: figures.length, total: 0, unit: "kinds" });
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`the measurement of the kernels ended with code ${code}`);
  return figures;
}

function prepareSet(
  { dataFolder, trainTicketFile }: BenchOptions,
  name: BenchDataset["name"],
  rows: number,
  show: ShowProgress,
): Promise<BenchDataset> {
  return prepareDataset({ name, rows, dataFolder, trainTicketFile }, show);
}

function toSetHead({
  name,
  rows,
  fileBytes,
}: BenchDataset): Pick<Report["sets"][number], "name" | "rows" | "inputBytes"> {
  return { name, rows, inputBytes: fileBytes };
}

async function run(options: BenchOptions): Promise<void> {
  const line = new ProgressLine();
  const before: Report | undefined =
    options.against === undefined ? undefined : JSON.parse(await readFile(options.against, "utf8"));
  let report: Report;
  try {
    report = await measure(options, (progress) => line.show(progress));
  } finally {
    line.end();
  }
  await mkdir(dirname(options.jsonFile), { recursive: true });
  await writeFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${formatReport(report, before)}\nkept in ${options.jsonFile}\n`);
  if (!options.check) return;
  const missed = listMissedAims(report);
  for (const miss of missed) process.stdout.write(`missed: ${miss}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  let options: BenchOptions | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (options === undefined) {
    process.stdout.write(usage);
    return;
  }
  try {
    await run(options);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
