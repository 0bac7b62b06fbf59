/**
 * `node bench/memory.ts [ROWS [MIB]] [--memory SIZE] [--set NAME] [--data DIR] [--root DIR]`: a server that has MIB
 * mebibytes, and no more: in a cgroup where this user may make one. It takes ROWS rows over HTTP, answers every kind of
 * question about logs one after the other, and then all kinds at once while more rows come in. `svc ingest --direct`
 * stores the same rows under the same limit. Prints peak memory, kills, refusals and times; exits with 1 after a kill.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readOperands } from "./command/operands.ts";
import { logSetNames } from "./datasets/dataset.ts";
import { prepareDataset } from "./datasets/preparation.ts";
import { type Cgroup, enterCgroup, makeCgroup } from "./measure/cgroup.ts";
import { watchMemoryBytesPeak } from "./measure/process.ts";
import { spreadOf } from "./measure/spread.ts";
import { askAtOnce, askInTurn, type KindFigure, sendPatiently } from "./memory/pressure.ts";
import { benchPath, projectRoot } from "./paths.ts";
import { prepareProgram } from "./server/program.ts";
import { startServer } from "./server/server-process.ts";
import { ProgressLine } from "./terminal/progress.ts";
import { formatCount, formatMegabytes, formatMs, formatTable, makeRightColumns } from "./terminal/table.ts";

const { numbers, texts } = readOperands(
  "node bench/memory.ts [ROWS [MIB]] [--memory SIZE] [--set NAME] [--data DIR] [--root DIR]",
  { ROWS: 2_000_000, MIB: 512 },
  ["memory", "set", "data", "root"],
);
const [rows, mebibytes] = numbers as [number, number];
const limitBytes = mebibytes * 2 ** 20;
const name = logSetNames.find((each) => each === (texts.set ?? "system"));
if (name === undefined) throw new Error(`--set: "${texts.set}" is none of ${logSetNames.join(", ")}`);
const root = resolve(texts.root ?? projectRoot);
const dataFolder = resolve(texts.data ?? benchPath("data"));
const dir = join(dataFolder, "stores", `memory-${process.pid}`);
/** How often the anonymous memory of the cgroup is read. */
const pollMs = 50;

const progress = new ProgressLine();
const show = progress.show.bind(progress);
const dataset = await prepareDataset({ name, rows, dataFolder, trainTicketFile: undefined }, show);
await mkdir(join(dataFolder, "stores"), { recursive: true });
let kills = 0;
try {
  process.stdout.write(`${formatCount(rows)} rows of ${name}, ${formatMegabytes(limitBytes)} MB\n\n`);
  await measureServer();
  await rm(dir, { recursive: true });
  await measureDirectLoad();
} finally {
  await rm(dir, { recursive: true, force: true });
  progress.end();
}
if (kills > 0) process.exitCode = 1;

/** Runs `use` beside a cgroup; without one the process is told by a flag what it may take. */
async function withLimit(
  use: (cgroup: Cgroup | undefined, flags: string[]) => Promise<string>,
): Promise<void> {
  const cgroup = makeCgroup(`svc-bench-${process.pid}`, limitBytes);
  const memory = texts.memory ?? (cgroup === undefined ? `${mebibytes}MiB` : undefined);
  if (cgroup === undefined)
    process.stdout.write(
      "no cgroup can be made here: the process is told its limit, and nothing enforces it\n",
    );
  let anonymousPeak = 0;
  const timer = setInterval(() => {
    anonymousPeak = Math.max(anonymousPeak, cgroup?.read().anonymousBytes ?? 0);
  }, pollMs);
  try {
    const text = await use(cgroup, memory === undefined ? [] : ["--memory", memory]);
    process.stdout.write(text);
    if (cgroup === undefined) return;
    const figures = cgroup.read();
    kills += figures.kills;
    process.stdout.write(
      `cgroup: peak ${formatMegabytes(figures.usedBytesPeak)} MB with pages of files, ` +
        `${formatMegabytes(anonymousPeak)} MB without; ${figures.kills} kills\n\n`,
    );
  } finally {
    clearInterval(timer);
    cgroup?.remove();
  }
}

async function measureServer(): Promise<void> {
  await withLimit(async (cgroup, flags) => {
    const server = await startServer(dir, root, flags, cgroup);
    const text: string[] = [];
    try {
      const begunMs = performance.now();
      const retries = await sendPatiently(server, dataset, show);
      const seconds = (performance.now() - begunMs) / 1000;
      const loaded = formatPeak(await server.readMemoryBytesPeak());
      text.push(
        `loaded over HTTP in ${seconds.toFixed(1)} s, ${retries} bodies sent again, peak ${loaded}\n\n`,
      );
      text.push(formatKinds("one after the other", await askInTurn(server, dataset, show)));
      text.push(formatKinds("eight at once, while rows come in", await askAtOnce(server, dataset, show)));
      text.push(`server: peak ${formatPeak(await server.readMemoryBytesPeak())}\n`);
    } catch (error) {
      // The connection is lost where the server was killed; the cgroup says whether it was.
      text.push(`the server ended: ${(error as Error).message}\n`);
      process.exitCode = 1;
    } finally {
      await server.stop();
    }
    return text.join("");
  });
}

async function measureDirectLoad(): Promise<void> {
  await withLimit(async (cgroup, flags) => {
    const words = [
      process.execPath,
      await prepareProgram(root),
      "ingest",
      "--direct",
      "--data",
      dir,
      ...flags,
      dataset.file,
    ];
    const [program, ...rest] = cgroup === undefined ? words : enterCgroup(cgroup, words);
    const child = spawn(program!, rest, { stdio: ["ignore", "pipe", "pipe"] });
    const endWatch = watchMemoryBytesPeak(child.pid!);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.resume();
    const [code, signal] = await once(child, "close");
    const peak = endWatch();
    const end = code === 0 ? "" : `; it ended with ${code ?? signal}`;
    return `svc ingest --direct: ${output.trim().split(": ").at(-1)}; peak ${formatPeak(peak)}${end}\n`;
  });
}

function formatPeak(bytes: number | null): string {
  return bytes === null ? "unknown" : `${formatMegabytes(bytes)} MB resident`;
}

function formatKinds(title: string, figures: readonly KindFigure[]): string {
  const columns = makeRightColumns(["answered", "refused", "median ms", "longest ms"]);
  const heads = [{ title, align: "left" as const }, ...columns];
  const lines = figures.map(({ kind, samplesMs, refusals }) => {
    const { median } = spreadOf(samplesMs);
    const counts = [samplesMs.length, refusals.length].map(formatCount);
    return [kind, ...counts, formatMs(median), formatMs(Math.max(0, ...samplesMs))];
  });
  const reasons = new Set(figures.flatMap(({ refusals }) => refusals));
  const said = [...reasons].map((reason) => `refused: ${reason}\n`).join("");
  return `${formatTable(heads, lines)}${said}\n`;
}
