/** `npm run bench`: svc beside its peers, on the same rows in the same run. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { measureBandwidth } from "./bandwidth.ts";
import { missedAims } from "./check.ts";
import { measureConcurrency } from "./concurrency.ts";
import { type Dataset, prepareDataset } from "./dataset.ts";
import { measureAppends, measureHttpLoads } from "./ingest.ts";
import type { KernelFigure } from "./kernels.ts";
import { machineFacts } from "./machine.ts";
import { measureMixed } from "./mixed.ts";
import { type BenchOptions, readOptions, storesFolder, usage } from "./options.ts";
import { installPeers } from "./peers.ts";
import { ProgressLine, type StepProgress } from "./progress.ts";
import { measureQueries, measureSizes } from "./queries.ts";
import { formatReport, type Report } from "./report.ts";
import { kindsOfSet, signalSetNames } from "./signaldata.ts";
import { trainTicketDayRows } from "./trainticket.ts";

type Show = (progress: StepProgress) => void;

const root = new URL("..", import.meta.url).pathname;
const kernelKinds = "codes,numbers,ids";

async function measure(options: BenchOptions, show: Show): Promise<Report> {
  await installPeers(options.peers, show);
  // Left over from a run that was broken off.
  await rm(storesFolder(options), { recursive: true, force: true });
  await mkdir(storesFolder(options), { recursive: true });
  const report: Report = {
    at: new Date().toISOString(),
    machine: machineFacts(),
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
      const dataset = await datasetNamed(options, name, options.rows, show);
      report.sets.push({ ...factsOf(dataset), systems: await measureQueries(options, dataset, show) });
    }
  }
  if (has("size") && options.trainTicketFile !== undefined && options.sets.includes("train-ticket")) {
    const rows = Math.min(options.rows, await trainTicketDayRows(options.trainTicketFile));
    const dataset = await datasetNamed(options, "train-ticket", rows, show);
    report.sizes.push({ ...factsOf(dataset), systems: await measureSizes(options, dataset, show) });
  }
  if (has("signals")) {
    const asked = signalSetNames.filter((name) =>
      kindsOfSet[name].some((kind) => options.kinds.includes(kind)),
    );
    for (const name of asked) {
      const rows = name === "spans" ? options.rows : Math.ceil(options.rows / 2);
      const dataset = await datasetNamed(options, name, rows, show);
      report.sets.push({ ...factsOf(dataset), systems: await measureQueries(options, dataset, show) });
    }
  }
  await measureServer(options, report, show);
  if (has("kernels")) report.kernels = await measureKernels(show);
  return report;
}

/** What is measured of svc alone, over HTTP for the most part. */
async function measureServer(options: BenchOptions, report: Report, show: Show): Promise<void> {
  const { parts, rows } = options;
  const stores = storesFolder(options);
  const alone = ["ingest", "mixed", "concurrency"] as const;
  if (!alone.some((part) => parts.includes(part))) return;
  const dataset = await datasetNamed(options, "system", rows, show);
  if (parts.includes("ingest")) {
    report.ingest = [
      ...(await measureAppends(stores, rows, show)),
      ...(await measureHttpLoads(stores, dataset, root, show)),
    ];
  }
  if (parts.includes("mixed")) report.mixed = await measureMixed(stores, dataset, root, show);
  if (parts.includes("concurrency")) {
    report.concurrency = await measureConcurrency(stores, dataset, root, show);
  }
}

/** Of the kernels that filter and group, in a process of their own; vectors of 256 MiB. */
async function measureKernels(show: Show): Promise<KernelFigure[]> {
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

function datasetNamed(
  { dataFolder, trainTicketFile }: BenchOptions,
  name: Dataset["name"],
  rows: number,
  show: Show,
): Promise<Dataset> {
  return prepareDataset({ name, rows, dataFolder, trainTicketFile }, show);
}

function factsOf({
  name,
  rows,
  fileBytes,
}: Dataset): Pick<Report["sets"][number], "name" | "rows" | "inputBytes"> {
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
  const missed = missedAims(report);
  for (const miss of missed) process.stdout.write(`missed: ${miss}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  let options: BenchOptions | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${textOf(error)}\n${usage}`);
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
    process.stderr.write(`${textOf(error)}\n`);
    process.exitCode = 1;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
