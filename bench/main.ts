/** `npm run bench`: how fast rows go in and how fast queries answer. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { measureHttpLoad } from "./http.ts";
import { machineFacts } from "./machine.ts";
import { type BenchOptions, readOptions, usage } from "./options.ts";
import { runPart } from "./part.ts";
import { ProgressLine, type StepProgress } from "./progress.ts";
import { formatReport, type Report } from "./report.ts";
import { prepareWorkload } from "./workload.ts";

const httpBatchRows = [1000, 10_000];

async function run(options: BenchOptions): Promise<void> {
  const line = new ProgressLine();
  const show = (progress: StepProgress): void => line.show(progress);
  const workload = await prepareWorkload(options, show);
  const appends = await runPart("appends", workload, show);
  const { load, store, queries } = await runPart("store", workload, show);
  const loads = [...appends, load];
  for (const batchRows of httpBatchRows) loads.push(await measureHttpLoad(workload, batchRows, show));
  line.end();
  const { jsonFile } = options;
  const at = new Date().toISOString();
  const report: Report = {
    at,
    machine: machineFacts(),
    workload: workload.options,
    loads,
    store,
    queries,
  };
  await mkdir(dirname(jsonFile), { recursive: true });
  await writeFile(jsonFile, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${formatReport(report)}\nkept in ${jsonFile}\n`);
}

function readArguments(): BenchOptions | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

const options = readArguments();
if (options === undefined) process.exitCode = 2;
else await run(options);
