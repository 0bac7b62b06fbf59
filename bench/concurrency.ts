import type { Dataset } from "./dataset.ts";
import { type Spread, spreadOf } from "./figures.ts";
import { keepAliveAgent, type Server } from "./http.ts";
import type { StepProgress } from "./progress.ts";
import type { Question, QuestionKind } from "./question.ts";
import { askServer, withLoadedServer } from "./serving.ts";

/** Small queries of many clients, alone and beside one heavy query after another. */
export interface ConcurrencyFigure {
  clients: number;
  aloneMs: Spread;
  besideMs: Spread;
  queriesPerSecondAlone: number;
  queriesPerSecondBeside: number;
  /** Of a heavy query, alone and beside the clients. */
  heavyAloneMs: Spread;
  heavyBesideMs: Spread;
}

type Show = (progress: StepProgress) => void;

const clients = 32;
const smallKinds: readonly QuestionKind[] = ["newestService", "trace"];
const measuredSeconds = 10;
const trialSeconds = 1;
const trialRowsMax = 100_000;

/** What has to look into nearly every variable; ten of them by turns. */
function heavyQuestion(dataset: Dataset, turn: number): Question {
  const { startMs, endMs } = dataset;
  return { kind: "regex", text: `[0-9]+[a-f]*${turn % 10}[^ ]*[0-9a-f]+[^0-9]*$`, startMs, endMs };
}

export async function measureConcurrency(
  storesDir: string,
  dataset: Dataset,
  root: string,
  show: Show,
): Promise<ConcurrencyFigure> {
  const seconds = dataset.rows <= trialRowsMax ? trialSeconds : measuredSeconds;
  return await withLoadedServer(storesDir, dataset, root, show, async ({ server }) => {
    const step = (text: string, done: number): void => show({ step: text, done, total: 4, unit: "stages" });
    step("32 clients: warm up", 0);
    await askSmall(server, dataset, untilMs(seconds / 4));
    step("32 clients alone", 1);
    const alone = await askSmall(server, dataset, untilMs(seconds));
    step("a heavy query alone", 2);
    const heavyAlone = await askHeavy(server, dataset, untilMs(seconds));
    step("32 clients beside a heavy query", 3);
    const end = untilMs(seconds);
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

function untilMs(seconds: number): number {
  return performance.now() + seconds * 1000;
}

/** Every client asks its next query as soon as it has its answer. */
async function askSmall(server: Server, { questions }: Dataset, endMs: number): Promise<number[]> {
  const agent = keepAliveAgent(clients);
  const samplesMs: number[] = [];
  let turn = 0;
  const askInTurn = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const ofKind = questions[smallKinds[turn % smallKinds.length]!];
      const question = ofKind[Math.floor(turn / smallKinds.length) % ofKind.length]!;
      turn += 1;
      samplesMs.push(await askServer(server, question, agent));
    }
  };
  await Promise.all(Array.from({ length: clients }, askInTurn));
  agent.destroy();
  return samplesMs;
}

async function askHeavy(server: Server, dataset: Dataset, endMs: number): Promise<number[]> {
  const agent = keepAliveAgent(1);
  const samplesMs: number[] = [];
  for (let turn = 0; performance.now() < endMs; turn++) {
    samplesMs.push(await askServer(server, heavyQuestion(dataset, turn), agent));
  }
  agent.destroy();
  return samplesMs;
}
