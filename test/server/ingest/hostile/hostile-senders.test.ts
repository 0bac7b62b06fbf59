/** A sender whose bodies are made to stop ingestion, and an honest one beside it. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSoak, report, scaled, seed } from "../../../durability/campaign.ts";
import type { Call, Running } from "../../running.ts";
import { call, ingest, lines, startServer } from "../../running.ts";
import type { HostileOrder, HostileReport } from "./sender.ts";

/** Hostile bodies of each protocol: SVC_SOAK_BODIES sets another number for the long form. */
const bodiesMin = scaled(1, Number(process.env.SVC_SOAK_BODIES ?? 10_000));
const idleMs = scaled(1_500, 20_000);
const decodeMsMax = 1_000;
/**
 * A JSON row that takes several times as long: each of its numbers is read twice. For the blank the list is not as
 * JSON.stringify would print it, so it is parsed and printed anew.
 */
const slowRow = Buffer.from(`{"message":"a","b":[ ${"1,".repeat(7_000_000)}12345678901234567890]}`);

let server: Running;
let hostileToken: string;
beforeAll(async () => {
  server = await startServer({ decodeMsMax, ingestThreads: 1 });
  hostileToken = await makeToken();
  // Both threads load and compile the decoder now, and not in the time that is measured.
  await sendHonest("first");
  await call(server, "/api/v1/ingest/logs", {
    token: hostileToken,
    headers: { "Content-Type": "application/x-ndjson" },
    body: lines([{ message: "hostile" }]),
  });
  await sleep(2_000);
  for (let i = 0; i < 5; i++) await sendHonest(`warm ${i}`);
});
afterAll(() => server.stop());

async function makeToken(): Promise<string> {
  const made = await call<{ token: string }>(server, "/api/v1/tokens", {
    token: server.adminToken,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: "hostile", role: "ingest" }),
  });
  return made.json.token;
}

function quantileOf(answers: readonly { ms: number }[], q: number): number {
  const sorted = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.floor(q * (sorted.length - 1))]!;
}

function describeLatency(answers: readonly { ms: number }[]): string {
  return `median ${quantileOf(answers, 0.5).toFixed(1)} ms, p99 ${quantileOf(answers, 0.99).toFixed(1)} ms`;
}

let sent = 0;

/** Sends a row; returns the status and the time that it took. */
async function sendHonest(message: string): Promise<{ status: number; ms: number }> {
  const startedMs = performance.now();
  const { status } = await ingest(server, lines([{ timestamp: Date.now(), message: `honest ${message}` }]));
  if (status === 200) sent++;
  return { status, ms: performance.now() - startedMs };
}

/** Sends a row again and again until `work` ends; returns all answers. */
async function sendBeside(work: Promise<unknown>): Promise<{ status: number; ms: number }[]> {
  const got: { status: number; ms: number }[] = [];
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    got.push(await sendHonest(String(got.length)));
    await sleep(20);
  }
  await over;
  return got;
}

function sendSlow(token = hostileToken): Promise<{ status: number; text: string }> {
  const headers = { "Content-Type": "application/x-ndjson" };
  return call(server, "/api/v1/ingest/logs", { token, headers, body: new Uint8Array(slowRow) });
}

describe("a body that takes too long to read", () => {
  test("is refused with 413, its thread is replaced, and others are served meanwhile", async () => {
    const slow = sendSlow();
    const honest = await sendBeside(slow);
    const { status, text } = await slow;
    expect([status, text]).toEqual([
      413,
      '{"error":"the body takes longer than 1 s to read: send it in smaller parts"}\n',
    ]);
    expect(honest.map((each) => each.status).every((each) => each === 200)).toBe(true);
    // All of them passed before the thread of the slow body was free again: one that waited would be the only one.
    expect(honest.length).toBeGreaterThan(2);
    const { text: metrics } = await call(server, "/metrics", { token: server.adminToken });
    expect(metrics).toContain('svc_ingest_ended_threads_total{reason="time"} 1\n');
  }, 30_000);

  test("any number of them, of one sender or of several slow ones, leave a thread to the others", async () => {
    const second = await makeToken();
    await sendSlow(second);
    const all = Promise.all(
      [hostileToken, second].flatMap((token) => Array.from({ length: 2 }, () => sendSlow(token))),
    );
    const honest = await sendBeside(all);
    expect((await all).map(({ status }) => status)).toEqual(Array(4).fill(413));
    expect(honest.every(({ status }) => status === 200)).toBe(true);
    // One that waited would be the only one in the time of a slow body.
    expect(honest.length).toBeGreaterThan(8);
  }, 60_000);

  test("refuses no other body of its sender for good", async () => {
    const row = { timestamp: Date.now(), message: "hostile" };
    const request: Call = {
      token: hostileToken,
      headers: { "Content-Type": "application/x-ndjson" },
      body: lines([row]),
    };
    const slow = sendSlow();
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await call(server, "/api/v1/ingest/logs", request)).status);
    await slow;
    expect(statuses).toEqual([200, 200, 200]);
  }, 30_000);
});

test(
  "hostile bodies of every protocol are answered, and an honest sender is served beside them",
  async () => {
    const idle = await sendBeside(sleep(idleMs));
    // It is reported alone.
    const elsewhere = isSoak ? await sendBesideElsewhere() : idle;
    const attack = sendHostile({ url: server.url, token: hostileToken, seed, bodiesMin });
    const honest = await sendBeside(attack);
    const { statuses, wrong, ...hostile } = await attack;
    const slowest = quantileOf(honest, 1);
    const tried = statuses.reduce((sum, [, count]) => sum + count, 0);
    const lost = honest.filter(({ status }) => status !== 200).length;
    report(
      `hostile bodies (SVC_SEED=${seed}): tried ${tried}, survived ${tried - wrong.length}, lost ${wrong.length}; ` +
        `${hostile.bodiesMin} or more of each protocol; statuses ${JSON.stringify(statuses)}`,
    );
    report(`honest batches: ${honest.length}, slowest ${Math.round(slowest)} ms, lost ${lost}`);
    report(
      `honest latency: idle ${describeLatency(idle)}; idle while hostile bodies are made and sent elsewhere ` +
        `${elsewhere === idle ? "not measured" : describeLatency(elsewhere)}; beside hostile bodies ${describeLatency(honest)}`,
    );
    expect(wrong).toEqual([]);
    expect(lost).toBe(0);
    // The machine's cores are shared with the hostile bodies and their senders.
    expect(quantileOf(honest, 0.5)).toBeLessThan(10 * quantileOf(idle, 0.5) + 50);
    // A wait for one thread that decodes until its deadline would be longer, but for noise.
    expect(slowest).toBeLessThan(20_000);
    const counted = await call<{ count: number }>(server, "/api/v1/query/histogram", {
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${server.adminToken}` },
      body: JSON.stringify({ query: '{} |= "honest"', startTime: 0, endTime: Date.now() + 1_000 }),
    });
    expect(counted.json.count).toBe(sent);
  },
  scaled(120_000, 3_600_000),
);

/**
 * Sends rows while hostile bodies go to a server that reads nothing of them. Their sender is on this machine and takes
 * CPU, as it would not elsewhere: so this is the latency of a server that is idle.
 */
async function sendBesideElsewhere(): Promise<{ status: number; ms: number }[]> {
  const sink = fork(join(import.meta.dirname, "sink.ts"), [], { execArgv: [] });
  try {
    const [url] = (await once(sink, "message")) as [string];
    const order = { url, token: hostileToken, seed, bodiesMin: 500 };
    return await sendBeside(sendHostile(order));
  } finally {
    sink.kill();
  }
}

/** Resolves once all hostile bodies are answered; rejects where their sender fails. */
async function sendHostile(order: HostileOrder): Promise<HostileReport> {
  const child = fork(join(import.meta.dirname, "sender.ts"), [JSON.stringify(order)], {
    execArgv: [],
  });
  const reports: HostileReport[] = [];
  child.on("message", (message) => reports.push(message as HostileReport));
  const [code] = await once(child, "close");
  if (reports[0] === undefined) throw new Error(`the hostile sender ended with ${code}`);
  return reports[0];
}
