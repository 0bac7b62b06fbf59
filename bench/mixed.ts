import { generateJsonLines } from "../fixtures/logs.ts";
import type { Dataset } from "./dataset.ts";
import { type Spread, spreadOf } from "./figures.ts";
import { keepAliveAgent, type Server, sendRows, startServer } from "./http.ts";
import type { StepProgress } from "./progress.ts";
import { oneBucketSeconds, type Question, type QuestionKind } from "./question.ts";
import { askServer, type Serving, withLoadedServer } from "./serving.ts";

/** Queries while rows come in, and what a kill leaves of the rows. */
export interface MixedFigure {
  storedRows: number;
  /** Asked for, and reached. */
  rowsPerSecondAim: number;
  rowsPerSecond: number;
  /** From sending a body of 1,000 rows to its acknowledgement. */
  bodyMs: Spread;
  queries: { kind: QuestionKind; idleMs: Spread; mixedMs: Spread }[];
  killed: KillFigure;
}

interface KillFigure {
  bodiesAcknowledged: number;
  /** Acknowledged bodies of which a row is missing after the restart, and bodies of which only some rows are there. */
  bodiesLost: number;
  bodiesTorn: number;
}

type Show = (progress: StepProgress) => void;

const kinds: readonly QuestionKind[] = ["rare", "newest", "byService"];
const rowsPerSecondAim = 30_000;
const bodyRows = 1000;
const senders = 4;
/** How long queries run idle, and beside the rows that come in. */
const measuredSeconds = 20;
const trialSeconds = 2;
const trialRowsMax = 100_000;
/** Every row of a body bears the body's number. */
const bodyKey = "bench.body";

export async function measureMixed(
  storesDir: string,
  dataset: Dataset,
  root: string,
  show: Show,
): Promise<MixedFigure> {
  const seconds = dataset.rows <= trialRowsMax ? trialSeconds : measuredSeconds;
  const bodies = encodeBodies(dataset, (seconds * rowsPerSecondAim) / bodyRows, show);
  return await withLoadedServer(storesDir, dataset, root, show, async (serving) => {
    await askFor(serving.server, dataset, seconds / 4, "warm up", show);
    const idle = await askFor(serving.server, dataset, seconds, "query an idle server", show);
    const hose = openHose(serving.server, bodies);
    // The kill comes while rows are still under way.
    const mixed = await askFor(serving.server, dataset, seconds * 0.9, "query while rows come in", show);
    await serving.server.kill();
    const sent = await hose.ended;
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
      killed: await checkKilled(serving, root, dataset, sent.acknowledged),
    };
  });
}

function encodeBodies(dataset: Dataset, count: number, show: Show): Buffer[] {
  const bodies: Buffer[] = [];
  const options = { profile: "company", seed: 2, rows: count * bodyRows, startMs: dataset.endMs } as const;
  for (const lines of generateJsonLines(options, bodyRows)) {
    const marked = lines.replaceAll('"attributes":{', `"attributes":{"${bodyKey}":"${bodies.length}",`);
    bodies.push(Buffer.from(marked));
    show({ step: "encode bodies", done: bodies.length, total: count, unit: "bodies" });
  }
  return bodies;
}

/** The queries by turns, one at a time, each time another needle. */
async function askFor(
  server: Server,
  dataset: Dataset,
  seconds: number,
  step: string,
  show: Show,
): Promise<Map<QuestionKind, number[]>> {
  const agent = keepAliveAgent(1);
  const samplesMs = new Map<QuestionKind, number[]>(kinds.map((kind) => [kind, []]));
  const begunMs = performance.now();
  for (let turn = 0; performance.now() - begunMs < seconds * 1000; turn++) {
    const kind = kinds[turn % kinds.length]!;
    const questions = dataset.questions[kind];
    const question: Question = questions[Math.floor(turn / kinds.length) % questions.length]!;
    samplesMs.get(kind)!.push(await askServer(server, question, agent));
    show({ step, done: Math.floor((performance.now() - begunMs) / 1000), total: seconds, unit: "seconds" });
  }
  agent.destroy();
  return samplesMs;
}

interface Sent {
  /** Numbers of the bodies whose rows the server has acknowledged. */
  acknowledged: number[];
  samplesMs: number[];
  rowsPerSecond: number;
}

/** Sends each body when its time has come, until the server is gone or all are sent. */
function openHose(server: Server, bodies: readonly Buffer[]): { ended: Promise<Sent> } {
  const agent = keepAliveAgent(senders);
  const sent: Sent = { acknowledged: [], samplesMs: [], rowsPerSecond: 0 };
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
        // The server was killed; whether this body is stored is not known.
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
  // A failure is thrown where the end is awaited.
  ended.catch(() => undefined);
  return { ended };
}

/** Starts another server on what the killed one left, and counts the rows of every body. */
async function checkKilled(
  serving: Serving,
  root: string,
  dataset: Dataset,
  acknowledged: readonly number[],
): Promise<KillFigure> {
  serving.server = await startServer(serving.dir, root);
  const agent = keepAliveAgent(1);
  const rowsOf = new Map<number, number>();
  const query = `count(logs{"${bodyKey}"!=""}) by ("${bodyKey}")`;
  const range = { startTime: dataset.startMs, endTime: dataset.endMs + 30 * 86_400_000 };
  const asked = Buffer.from(JSON.stringify({ query, ...range, bucketSize: oneBucketSeconds }));
  const { series } = await serving.server.post("/api/v1/query/timeseries", asked, agent);
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
