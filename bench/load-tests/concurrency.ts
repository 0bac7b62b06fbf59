import type { BenchDataset } from "../datasets/dataset.ts";
import type { BenchQuestion, QuestionKind } from "../datasets/question.ts";
import { type Spread, spreadOf } from "../measure/spread.ts";
import { openAgent, type ServerProcess } from "../server/server-process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { askServer, runOnLoadedServer } from "./loaded-server.ts";

/** Small queries of many clients, with and without heavy queries one after another beside them. */
export interface ConcurrencyFigure {
  clients: number;
  aloneMs: Spread;
  besideMs: Spread;
  queriesPerSecondAlone: number;
  queriesPerSecondBeside: number;
  /** Times of the heavy queries without the clients. */
  heavyAloneMs: Spread;
  /** Times of the heavy queries beside the clients. */
  heavyBesideMs: Spread;
}

const clients = 32;
const smallKinds: readonly QuestionKind[] = ["newestService", "trace"];
const measuredSeconds = 10;
const trialSeconds = 1;
const trialRowsMax = 100_000;

/** A regular expression that must be tested on nearly every variable; ten different ones in turn. */
function makeHeavyQuestion(dataset: BenchDataset, turn: number): BenchQuestion {
  const { startMs, endMs } = dataset;
  return { kind: "regex", text: `[0-9]+[a-f]*${turn % 10}[^ ]*[0-9a-f]+[^0-9]*$`, startMs, endMs };
}

export async function measureConcurrency(
  storesDir: string,
  dataset: BenchDataset,
  root: string,
  show: ShowProgress,
): Promise<ConcurrencyFigure> {
  const seconds = dataset.rows <= trialRowsMax ? trialSeconds : measuredSeconds;
  return await runOnLoadedServer(storesDir, dataset, root, show, async ({ server }) => {
    const step = (text: string, done: number): void => show({ step: text, done, total: 4, unit: "stages" });
    step("32 clients: warm up", 0);
    await askSmall(server, dataset, deadlineMsAfter(seconds / 4));
    step("32 clients alone", 1);
    const alone = await askSmall(server, dataset, deadlineMsAfter(seconds));
    step("a heavy query alone", 2);
    const heavyAlone = await askHeavy(server, dataset, deadlineMsAfter(seconds));
    step("32 clients beside a heavy query", 3);
    const end = deadlineMsAfter(seconds);
    const [beside, heavyBeside] = await Promise.all([
      askSmall(server, dataset, end),
      askHeavy(server, dataset, end),
    ]);
    return {
      clients,
      aloneMs: spreadOf(alone),
      besideMs: spreadOf(beside),
      queriesPerSecondAlone: alone.length / seconds,
      queriesPerSecondBeside: beside.length / seconds,
      heavyAloneMs: spreadOf(heavyAlone),
      heavyBesideMs: spreadOf(heavyBeside),
    };
  });
}

function deadlineMsAfter(seconds: number): number {
  return performance.now() + seconds * 1000;
}

/** Every client sends its next query as soon as it has the answer to the last. */
async function askSmall(
  server: ServerProcess,
  { questions }: BenchDataset,
  endMs: number,
): Promise<number[]> {
  const agent = openAgent(clients);
  const samplesMs: number[] = [];
  let turn = 0;
  const askInTurn = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const candidates = questions[smallKinds[turn % smallKinds.length]!];
      const question = candidates[Math.floor(turn / smallKinds.length) % candidates.length]!;
      turn += 1;
      samplesMs.push(await askServer(server, question, agent));
    }
  };
  await Promise.all(Array.from({ length: clients }, askInTurn));
  agent.destroy();
  return samplesMs;
}

async function askHeavy(server: ServerProcess, dataset: BenchDataset, endMs: number): Promise<number[]> {
  const agent = openAgent(1);
  const samplesMs: number[] = [];
  for (let turn = 0; performance.now() < endMs; turn++) {
    samplesMs.push(await askServer(server, makeHeavyQuestion(dataset, turn), agent));
  }
  agent.destroy();
  return samplesMs;
}
