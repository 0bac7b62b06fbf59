import { generateJsonLines } from "../../fixtures/logs.ts";
import type { BenchDataset } from "../datasets/dataset.ts";
import { type BenchQuestion, oneBucketSeconds, type QuestionKind } from "../datasets/question.ts";
import { type Spread, spreadOf } from "../measure/spread.ts";
import { sendRows } from "../server/row-sender.ts";
import { openAgent, type ServerProcess, startServer } from "../server/server-process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { askServer, type LoadedServer, runOnLoadedServer } from "./loaded-server.ts";

/** Query times while rows arrive, and which rows survive `kill -9`. */
export interface MixedFigure {
  storedRows: number;
  /** The rate at which bodies are due. */
  rowsPerSecondAim: number;
  /** The rate that was acknowledged. */
  rowsPerSecond: number;
  /** From sending a body of 1,000 rows until its acknowledgement. */
  bodyMs: Spread;
  queries: { kind: QuestionKind; idleMs: Spread; mixedMs: Spread }[];
  killed: KillFigure;
}

interface KillFigure {
  bodiesAcknowledged: number;
  /** Acknowledged bodies that lack a row after the restart. */
  bodiesLost: number;
  /** Bodies of which only some rows are stored. */
  bodiesTorn: number;
}

const kinds: readonly QuestionKind[] = ["rare", "newest", "byService"];
const rowsPerSecondAim = 30_000;
const bodyRows = 1000;
const senders = 4;
/** Duration of each part: queries to the idle server, and queries beside rows that arrive. */
const measuredSeconds = 20;
const trialSeconds = 2;
const trialRowsMax = 100_000;
/** The attribute of every row that holds the number of its body. */
const bodyKey = "bench.body";

export async function measureMixed(
  storesDir: string,
  dataset: BenchDataset,
  root: string,
  show: ShowProgress,
): Promise<MixedFigure> {
  const seconds = dataset.rows <= trialRowsMax ? trialSeconds : measuredSeconds;
  const bodies = encodeBodies(dataset, (seconds * rowsPerSecondAim) / bodyRows, show);
  return await runOnLoadedServer(storesDir, dataset, root, show, async (loaded) => {
    await askForSeconds(loaded.server, dataset, seconds / 4, "warm up", show);
    const idle = await askForSeconds(loaded.server, dataset, seconds, "query an idle server", show);
    const sender = startSending(loaded.server, bodies);
    // The server is killed while bodies are still being sent.
    const mixed = await askForSeconds(
      loaded.server,
      dataset,
      seconds * 0.9,
      "query while rows come in",
      show,
    );
    await loaded.server.kill();
    const sent = await sender.ended;
    return {
      storedRows: dataset.rows,
      rowsPerSecondAim,
      rowsPerSecond: sent.rowsPerSecond,
      bodyMs: spreadOf(sent.samplesMs),
      queries: kinds.map((kind) => ({
        kind,
        idleMs: spreadOf(idle.get(kind) ?? []),
        mixedMs: spreadOf(mixed.get(kind) ?? []),
      })),
      killed: await countAfterKill(loaded, root, dataset, sent.acknowledged),
    };
  });
}

function encodeBodies(dataset: BenchDataset, count: number, show: ShowProgress): Buffer[] {
  const bodies: Buffer[] = [];
  const options = { profile: "company", seed: 2, rows: count * bodyRows, startMs: dataset.endMs } as const;
  for (const lines of generateJsonLines(options, bodyRows)) {
    const marked = lines.replaceAll('"attributes":{', `"attributes":{"${bodyKey}":"${bodies.length}",`);
    bodies.push(Buffer.from(marked));
    show({ step: "encode bodies", done: bodies.length, total: count, unit: "bodies" });
  }
  return bodies;
}

/** Asks the kinds in turn, one question at a time and each time another one, for so many seconds. */
async function askForSeconds(
  server: ServerProcess,
  dataset: BenchDataset,
  seconds: number,
  step: string,
  show: ShowProgress,
): Promise<Map<QuestionKind, number[]>> {
  const agent = openAgent(1);
  const samplesMs = new Map<QuestionKind, number[]>(kinds.map((kind) => [kind, []]));
  const begunMs = performance.now();
  for (let turn = 0; performance.now() - begunMs < seconds * 1000; turn++) {
    const kind = kinds[turn % kinds.length]!;
    const questions = dataset.questions[kind];
    const question: BenchQuestion = questions[Math.floor(turn / kinds.length) % questions.length]!;
    samplesMs.get(kind)!.push(await askServer(server, question, agent));
    show({ step, done: Math.floor((performance.now() - begunMs) / 1000), total: seconds, unit: "seconds" });
  }
  agent.destroy();
  return samplesMs;
}

interface SentBodies {
  /** Numbers of the bodies that the server has acknowledged. */
  acknowledged: number[];
  samplesMs: number[];
  rowsPerSecond: number;
}

/** Sends each body at its due time, until all are sent or the server is killed. */
function startSending(server: ServerProcess, bodies: readonly Buffer[]): { ended: Promise<SentBodies> } {
  const agent = openAgent(senders);
  const sent: SentBodies = { acknowledged: [], samplesMs: [], rowsPerSecond: 0 };
  const begunMs = performance.now();
  let lastMs = begunMs;
  let next = 0;
  let isGone = false;
  const sendInTurn = async (): Promise<void> => {
    while (next < bodies.length && !isGone) {
      const body = next++;
      const dueMs = begunMs + (body * bodyRows * 1000) / rowsPerSecondAim;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      const sentMs = performance.now();
      try {
        await sendRows(server, bodies[body]!, bodyRows, agent);
      } catch (error) {
        // A network error means that the server was killed. Whether this body is stored is unknown.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
        isGone = true;
        return;
      }
      lastMs = performance.now();
      sent.samplesMs.push(lastMs - sentMs);
      sent.acknowledged.push(body);
    }
  };
  const ended = Promise.all(Array.from({ length: senders }, sendInTurn)).then(() => {
    agent.destroy();
    sent.rowsPerSecond = (sent.acknowledged.length * bodyRows) / ((lastMs - begunMs) / 1000);
    return sent;
  });
  // A failure is thrown where `ended` is awaited; this handler only keeps it from counting as unhandled until then.
  ended.catch(() => undefined);
  return { ended };
}

/** Restarts the server on the killed one's folder and counts the rows of every body. */
async function countAfterKill(
  loaded: LoadedServer,
  root: string,
  dataset: BenchDataset,
  acknowledged: readonly number[],
): Promise<KillFigure> {
  loaded.server = await startServer(loaded.dir, root);
  const agent = openAgent(1);
  const rowsOf = new Map<number, number>();
  const query = `count(logs{"${bodyKey}"!=""}) by ("${bodyKey}")`;
  const range = { startTime: dataset.startMs, endTime: dataset.endMs + 30 * 86_400_000 };
  const body = Buffer.from(JSON.stringify({ query, ...range, bucketSize: oneBucketSeconds }));
  const { series } = await loaded.server.post("/api/v1/query/timeseries", body, agent);
  agent.destroy();
  for (const { labels, points } of series as {
    labels: Record<string, string>;
    points: [number, number][];
  }[]) {
    rowsOf.set(
      Number(labels[bodyKey]),
      points.reduce((sum, [, rows]) => sum + rows, 0),
    );
  }
  return {
    bodiesAcknowledged: acknowledged.length,
    bodiesLost: acknowledged.filter((body) => rowsOf.get(body) !== bodyRows).length,
    bodiesTorn: [...rowsOf.values()].filter((rows) => rows !== bodyRows).length,
  };
}
