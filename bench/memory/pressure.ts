/** What a server with little memory is asked to do: to take rows, and to answer questions one by one and at once. */
import type { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchDataset } from "../datasets/dataset.ts";
import { readLineBlocks } from "../datasets/line-blocks.ts";
import {
  type BenchQuestion,
  bucketSecondsOf,
  logKinds,
  newestRows,
  type QuestionKind,
} from "../datasets/question.ts";
import { sendRows } from "../server/row-sender.ts";
import { openAgent, type ServerProcess } from "../server/server-process.ts";
import { toSvcql } from "../systems/svcql.ts";
import type { ShowProgress } from "../terminal/progress.ts";

/** What became of the questions of one kind. */
export interface KindFigure {
  kind: QuestionKind;
  /** Times of those that were answered. */
  samplesMs: number[];
  /** What the server said to the others. */
  refusals: string[];
}

/** Rows of a body, and its bytes: agents send less. */
const bodyRowsMax = 10_000;
const bodyBytesMax = 4 * 2 ** 20;
const connections = 4;
/** Pause before a body is sent again that the server refused for now. */
const retryMs = 250;
const questionsInTurn = 8;
const clients = 8;
const questionsAtOnce = 16;
/** Questions about rows, not counts. */
const rowKinds: readonly QuestionKind[] = ["newestWord", "newestService", "newest", "trace"];

/** Sends the rows, and each body again that is refused for now, as agents do. Returns how often that was. */
export async function sendPatiently(
  server: ServerProcess,
  { file, fileBytes, rows: total }: BenchDataset,
  show: ShowProgress,
  isOver: () => boolean = () => false,
): Promise<number> {
  const bodyRows = Math.min(bodyRowsMax, Math.ceil((bodyBytesMax * total) / fileBytes));
  const bodies = readLineBlocks(file, total, bodyRows);
  const agent = openAgent(connections);
  let [done, retries] = [0, 0];
  const sendInTurn = async (): Promise<void> => {
    for await (const { bytes, rows } of bodies) {
      while (!isOver()) {
        try {
          await sendRows(server, bytes, rows, agent);
          break;
        } catch (error) {
          if (!/answered (429|503)|ECONNRESET|EPIPE/.test((error as Error).message)) throw error;
          retries++;
          await sleep(retryMs);
        }
      }
      done += rows;
      show({ step: "send rows", done, total, unit: "rows" });
      if (isOver()) return;
    }
  };
  await Promise.all(Array.from({ length: connections }, sendInTurn));
  agent.destroy();
  return retries;
}

/** Asks some questions of each kind, each after the answer to the one before. */
export async function askInTurn(
  server: ServerProcess,
  dataset: BenchDataset,
  show: ShowProgress,
): Promise<KindFigure[]> {
  const agent = openAgent(1);
  const figures: KindFigure[] = [];
  const kinds = kindsOf(dataset);
  for (const kind of kinds) {
    show({ step: "ask in turn", done: figures.length, total: kinds.length, unit: "kinds" });
    const figure: KindFigure = { kind, samplesMs: [], refusals: [] };
    for (const question of dataset.questions[kind].slice(0, questionsInTurn))
      await ask(server, question, agent, figure);
    figures.push(figure);
  }
  agent.destroy();
  return figures;
}

/** Asks questions of all kinds from several clients while the rows are sent a second time. */
export async function askAtOnce(
  server: ServerProcess,
  dataset: BenchDataset,
  show: ShowProgress,
): Promise<KindFigure[]> {
  const figures = kindsOf(dataset).map((kind): KindFigure => ({ kind, samplesMs: [], refusals: [] }));
  const agent = openAgent(clients);
  const orders = Array.from({ length: questionsAtOnce }, (_, turn) =>
    figures.map((figure) => {
      const all = dataset.questions[figure.kind];
      return { figure, question: all[(questionsInTurn + turn) % all.length]! };
    }),
  ).flat();
  let next = 0;
  let isOver = false;
  const sending = sendPatiently(
    server,
    dataset,
    () => undefined,
    () => isOver,
  );
  const askNext = async (): Promise<void> => {
    while (next < orders.length) {
      const { figure, question } = orders[next++]!;
      show({ step: "ask at once", done: next, total: orders.length, unit: "questions" });
      await ask(server, question, agent, figure);
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, askNext));
  } finally {
    isOver = true;
    await sending;
    agent.destroy();
  }
  return figures;
}

/** The kinds of questions that a dataset has: some suit only one of the datasets. */
const kindsOf = (dataset: BenchDataset) => logKinds.filter((kind) => dataset.questions[kind].length > 0);

async function ask(
  server: ServerProcess,
  question: BenchQuestion,
  agent: Agent,
  { samplesMs, refusals }: KindFigure,
): Promise<void> {
  const { kind, startMs: startTime, endMs: endTime } = question;
  const isOfRows = rowKinds.includes(kind);
  const more = isOfRows ? { limit: newestRows } : { bucketSize: bucketSecondsOf(kind) };
  const body = Buffer.from(JSON.stringify({ query: toSvcql(question), startTime, endTime, ...more }));
  const begunMs = performance.now();
  try {
    await server.post(`/api/v1/query/${isOfRows ? "logs" : "timeseries"}`, body, agent);
    samplesMs.push(performance.now() - begunMs);
  } catch (error) {
    const { message } = error as Error;
    if (!message.startsWith("the server answered")) throw error;
    refusals.push(message);
  }
}
