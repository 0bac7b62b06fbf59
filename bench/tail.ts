/**
 * `node bench/tail.ts [SECONDS [ROWS_A_SECOND]]`: what a firehose of logs costs while nobody tails it, a hundred tails with queries of their own do, and
 * a hundred equal ones of every row: time to acknowledgement, the server's CPU, rows that the tails got and missed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type ClientRequest, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Server, startServer } from "./http.ts";
import { readOperands } from "./operands.ts";

const { numbers } = readOperands("node bench/tail.ts [SECONDS [ROWS_A_SECOND]]", {
  SECONDS: 10,
  ROWS_A_SECOND: 30_000,
});
const [seconds, rowsPerSecond] = numbers as [number, number];
const rowsPerBody = 1_000;
const tails = 100;
/** A token has 32 at most. */
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
  const server = await startServer(dir, join(import.meta.dirname, ".."));
  try {
    const reading = query === undefined ? [] : await openTails(server, query);
    const before = (await server.cpuMs()) ?? Number.NaN;
    const times = await pour(server);
    const behind = metric(await ask(server, "GET", "/metrics"), "lag_rows");
    let metrics: string;
    do metrics = await ask(server, "GET", "/metrics");
    while (metric(metrics, "lag_rows") + metric(metrics, "waiting_bytes") > 0);
    const cpu = ((((await server.cpuMs()) ?? Number.NaN) - before) / (seconds * rowsPerSecond)) * 1000;
    for (const each of reading) each.destroy();
    const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(1);
    console.log(
      `${name}: acknowledged in ${at(0.5)} ms (p50), ${at(0.99)} ms (p99); ${cpu.toFixed(1)} µs of CPU a row; ` +
        `${metric(metrics, "rows_sent_total")} rows sent, ${metric(metrics, "rows_missed_total")} missed, ${behind} behind at the end`,
    );
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true });
  }
}

function metric(metrics: string, name: string): number {
  return Number(new RegExp(`^svc_tail_${name} (\\S+)$`, "m").exec(metrics)?.[1]);
}

async function openTails(server: Server, query: (tail: number) => string): Promise<ClientRequest[]> {
  const open: ClientRequest[] = [];
  let token = "";
  for (let tail = 0; tail < tails; tail++) {
    if (tail % tailsPerToken === 0) {
      token = JSON.parse(await ask(server, "POST", "/api/v1/tokens", '{"role":"viewer"}')).token;
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

/** Milliseconds to acknowledgement of each body, ascending. */
async function pour(server: Server): Promise<number[]> {
  const times: number[] = [];
  const waiting: Promise<void>[] = [];
  const begunMs = performance.now();
  for (let body = 0; body < (seconds * rowsPerSecond) / rowsPerBody; body++) {
    const dueMs = begunMs + (body * rowsPerBody * 1000) / rowsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    const text = bodyOf(body);
    const sentMs = performance.now();
    const acknowledged = ask(server, "POST", "/api/v1/ingest/logs", text, "application/x-ndjson");
    waiting.push(acknowledged.then(() => void times.push(performance.now() - sentMs)));
  }
  await Promise.all(waiting);
  return times.sort((a, b) => a - b);
}

function bodyOf(body: number): string {
  let text = "";
  for (let i = body * rowsPerBody; i < (body + 1) * rowsPerBody; i++) {
    text += `{"timestamp":${Date.now()},"log_level":"info","message":"order ${1_000_000 + i} of customer ${i % 977} took ${i % 313} ms",`;
    text += `"attributes":{"service.name":"/k8s/shop/s${i % services}","pod":"p${i % 64}","region":"eu","http.status":"${200 + (i % 5)}"}}\n`;
  }
  return text;
}

function ask(
  { url, token }: Server,
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
