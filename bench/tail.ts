/**
 * `node bench/tail.ts [SECONDS [ROWS_A_SECOND]]`: the cost of a steady stream of logs without tails, with a hundred
 * tails of different queries, and with a hundred equal tails of every row. Prints the time to acknowledgement, the
 * server's CPU, and the rows that the tails received and missed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type ClientRequest, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOperands } from "./command/operands.ts";
import { projectRoot } from "./paths.ts";
import { type ServerProcess, startServer } from "./server/server-process.ts";

const { numbers } = readOperands("node bench/tail.ts [SECONDS [ROWS_A_SECOND]]", {
  SECONDS: 10,
  ROWS_A_SECOND: 30_000,
});
const [seconds, rowsPerSecond] = numbers as [number, number];
const rowsPerBody = 1_000;
const tails = 100;
/** The server allows a token at most 32 tails. */
const tailsPerToken = 25;
const services = 128;
const agent = new Agent({ keepAlive: true });

const cases: [name: string, query: ((tail: number) => string) | undefined][] = [
  ["no tails", undefined],
  [`${tails} tails, each of one service`, (tail) => `logs{service.name="/k8s/shop/s${tail}"} |= "took"`],
  [`${tails} tails, each with a text that is rare`, (tail) => `logs |= "order ${1_000_000 + tail * 7}"`],
  [`${tails} equal tails of every row`, () => ""],
];

for (const [name, query] of cases) await measure(name, query);

async function measure(name: string, query: ((tail: number) => string) | undefined): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "svc-bench-tail-"));
  const server = await startServer(dir, projectRoot);
  try {
    const openRequests = query === undefined ? [] : await openTails(server, query);
    const before = (await server.readCpuMs()) ?? Number.NaN;
    const times = await sendBodies(server);
    const behind = readMetric(await sendRequest(server, "GET", "/metrics"), "lag_rows");
    let metrics: string;
    do metrics = await sendRequest(server, "GET", "/metrics");
    while (readMetric(metrics, "lag_rows") + readMetric(metrics, "waiting_bytes") > 0);
    const cpu = ((((await server.readCpuMs()) ?? Number.NaN) - before) / (seconds * rowsPerSecond)) * 1000;
    for (const each of openRequests) each.destroy();
    const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(1);
    console.log(
      `${name}: acknowledged in ${at(0.5)} ms (p50), ${at(0.99)} ms (p99); ${cpu.toFixed(1)} µs of CPU a row; ` +
        `${readMetric(metrics, "rows_sent_total")} rows sent, ${readMetric(metrics, "rows_missed_total")} missed, ${behind} behind at the end`,
    );
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true });
  }
}

function readMetric(metrics: string, name: string): number {
  return Number(new RegExp(`^svc_tail_${name} (\\S+)$`, "m").exec(metrics)?.[1]);
}

async function openTails(server: ServerProcess, query: (tail: number) => string): Promise<ClientRequest[]> {
  const open: ClientRequest[] = [];
  let token = "";
  for (let tail = 0; tail < tails; tail++) {
    if (tail % tailsPerToken === 0) {
      token = JSON.parse(await sendRequest(server, "POST", "/api/v1/tokens", '{"role":"viewer"}')).token;
    }
    const path = `/api/v1/query/tail?${new URLSearchParams({ query: query(tail) })}`;
    const headers = { Authorization: `Bearer ${token}` };
    await new Promise<void>((resolve, reject) => {
      const sent = request(server.url + path, { headers, agent: false }, (answer) => {
        answer.resume();
        answer.on("error", () => undefined);
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`a tail was answered ${answer.statusCode}`));
      });
      sent.on("error", () => undefined);
      sent.end();
      open.push(sent);
    });
  }
  return open;
}

/** Sends every body at its due time. Returns their milliseconds to acknowledgement, ascending. */
async function sendBodies(server: ServerProcess): Promise<number[]> {
  const times: number[] = [];
  const waiting: Promise<void>[] = [];
  const begunMs = performance.now();
  for (let body = 0; body < (seconds * rowsPerSecond) / rowsPerBody; body++) {
    const dueMs = begunMs + (body * rowsPerBody * 1000) / rowsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    const text = makeBody(body);
    const sentMs = performance.now();
    const acknowledged = sendRequest(server, "POST", "/api/v1/ingest/logs", text, "application/x-ndjson");
    waiting.push(acknowledged.then(() => void times.push(performance.now() - sentMs)));
  }
  await Promise.all(waiting);
  return times.sort((a, b) => a - b);
}

function makeBody(body: number): string {
  let text = "";
  for (let i = body * rowsPerBody; i < (body + 1) * rowsPerBody; i++) {
    text += `{"timestamp":${Date.now()},"log_level":"info","message":"order ${1_000_000 + i} of customer ${i % 977} took ${i % 313} ms",`;
    text += `"attributes":{"service.name":"/k8s/shop/s${i % services}","pod":"p${i % 64}","region":"eu","http.status":"${200 + (i % 5)}"}}\n`;
  }
  return text;
}

function sendRequest(
  { url, token }: ServerProcess,
  method: string,
  path: string,
  body?: string,
  type = "application/json",
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": type };
    const sent = request(url + path, { method, headers, agent }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece) => (text += piece));
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
