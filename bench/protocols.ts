/**
 * `node bench/protocols.ts [BODIES] [--only NAME]`: rows/s and the server's CPU a row of each protocol, over HTTP (and
 * gRPC, and sockets of their own) on loopback with durable acknowledgement, from bodies of 1,000 rows that are encoded beforehand;
 * and ClickHouse's CPU for the JSON lines.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeBody } from "../server/index.ts";
import { readOperands } from "./command/operands.ts";
import { projectRoot } from "./paths.ts";
import { measureClickHouseCpu } from "./protocols/clickhouse-peer.ts";
import { rowsPerBody, startMs } from "./protocols/generated-rows.ts";
import { GrpcSender } from "./protocols/grpc-sender.ts";
import { metricProtocols } from "./protocols/metric-bodies.ts";
import { encode, makeOtlpLogs, type Protocol, protocols, root } from "./protocols/request-bodies.ts";
import { SocketSender } from "./protocols/socket-sender.ts";
import { findFreePort } from "./server/free-port.ts";
import { type ServerProcess, startServer } from "./server/server-process.ts";

const warmBodies = 40;
const connections = 8;
const { numbers, texts: flags } = readOperands(
  "node bench/protocols.ts [BODIES] [--only NAME]",
  { BODIES: 240 },
  ["only"],
);
const [bodies] = numbers as [number];

const agent = new Agent({ keepAlive: true, maxSockets: connections });

function send({ url, token }: ServerProcess, { path, headers }: Protocol, body: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent, method: "POST" }, (answer) => {
      answer.resume();
      answer.on("end", () => {
        const { statusCode = 0 } = answer;
        if (statusCode >= 300) reject(new Error(`${path} answered ${statusCode}`));
        else resolve();
      });
    });
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
    sent.setHeader("Authorization", `Bearer ${token}`);
    sent.on("error", reject);
    sent.end(body);
  });
}

/** What sends over connections that are no HTTP. */
interface Senders {
  grpc: GrpcSender;
  fluent: SocketSender;
  syslog: SocketSender;
}

/** Returns the function that sends a body of the protocol. */
function openSender(server: ServerProcess, protocol: Protocol, senders: Senders) {
  const { over, path } = protocol;
  if (over === "grpc") return (body: Uint8Array) => senders.grpc.send(path, body);
  if (over !== undefined) return (body: Uint8Array) => senders[over].send(body);
  return (body: Uint8Array) => send(server, protocol, body);
}

async function countRows(server: ServerProcess): Promise<number> {
  const counts = (await server.get("/metrics")).matchAll(/^svc_ingest_rows_total\{[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Waits for rows whose sender gets no answer. */
async function awaitRows(server: ServerProcess, rows: number): Promise<void> {
  while ((await countRows(server)) < rows) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function measure(server: ServerProcess, protocol: Protocol, senders: Senders): Promise<void> {
  const all = Array.from({ length: warmBodies + bodies }, (_, body) => protocol.makeBody(body));
  const bytes = all.reduce((sum, { length }) => sum + length, 0) / all.length / rowsPerBody;
  let next = 0;
  const sendBody = openSender(server, protocol, senders);
  const rowsBefore = await countRows(server);
  const sendUpTo = async (end: number): Promise<void> => {
    while (next < end) await sendBody(all[next++]!);
  };
  const sendAll = async (end: number): Promise<void> => {
    await Promise.all(Array.from({ length: connections }, () => sendUpTo(end)));
    if (protocol.over === "syslog") await awaitRows(server, rowsBefore + end * rowsPerBody);
  };
  await sendAll(warmBodies);
  const cpuBefore = (await server.readCpuMs()) ?? Number.NaN;
  const beforeMs = performance.now();
  await sendAll(all.length);
  const seconds = (performance.now() - beforeMs) / 1000;
  const rows = bodies * rowsPerBody;
  const cpu = ((((await server.readCpuMs()) ?? Number.NaN) - cpuBefore) / rows) * 1000;
  const rate = Math.round(rows / seconds).toLocaleString("en");
  process.stdout.write(
    `${protocol.name.padEnd(33)}${rate.padStart(9)} rows/s ${cpu.toFixed(2).padStart(6)} µs CPU/row ${bytes.toFixed(0).padStart(5)} B/row\n`,
  );
}

/** Measures decoding alone: by protobufjs, and by the server's own reader, which also makes the batch for the store. */
function measureDecoding(): void {
  const body = encode(
    "Logs",
    makeOtlpLogs(0, (id) => id),
  );
  const type = root.lookupType("Logs");
  const own = () =>
    decodeBody({
      content: { signal: "logs" },
      format: "otlp logs",
      body: new Uint8Array(body),
      encoding: "identity",
      unpackedBytesMax: 1 << 30,
      arrivalMs: Date.now(),
      sender: "",
      wantsContentKey: true,
      flattensJson: false,
      families: { version: 0, json: new Uint8Array(new SharedArrayBuffer(2)) },
      index: "",
    });
  for (const [name, read] of [
    ["protobufjs, decoding alone", () => type.decode(body)],
    ["decodeBody, to the batch", own],
  ] as const) {
    for (let i = 0; i < 100; i++) read();
    const before = process.cpuUsage();
    for (let i = 0; i < 200; i++) read();
    const { user, system } = process.cpuUsage(before);
    const micros = (user + system) / 200 / rowsPerBody;
    process.stdout.write(`${name.padEnd(33)}${micros.toFixed(2).padStart(23)} µs CPU/row\n`);
  }
}

/** Measures ClickHouse with the JSON lines, as many rows as each protocol sends. */
async function measurePeer(): Promise<void> {
  const { makeBody } = protocols.find(({ name }) => name === "JSON lines")!;
  const all = Array.from({ length: warmBodies + bodies }, (_, body) => makeBody(body));
  const rows = all.length * rowsPerBody;
  const seconds = await measureClickHouseCpu({ bodies: all, rows, startMs, endMs: startMs + rows - 1 });
  const micros = ((seconds / rows) * 1e6).toFixed(2).padStart(23);
  process.stdout.write(`${"ClickHouse, JSONEachRow".padEnd(33)}${micros} µs CPU/row\n`);
}

measureDecoding();
const dir = mkdtempSync(join(tmpdir(), "svc-protocols-"));
const [fluentPort, syslogPort] = [await findFreePort(), await findFreePort()];
const server = await startServer(dir, projectRoot, [
  ...["--otlp-grpc", "127.0.0.1:0", "--fluent", `127.0.0.1:${fluentPort}`],
  ...["--syslog", `127.0.0.1:${syslogPort}`],
]);
const senders: Senders = {
  grpc: new GrpcSender(server),
  fluent: new SocketSender(fluentPort, { isAcknowledged: true }),
  syslog: new SocketSender(syslogPort, { isAcknowledged: false }),
};
try {
  const all = [...protocols, ...metricProtocols];
  for (const protocol of all.filter(({ name }) => name.includes(flags.only ?? ""))) {
    await measure(server, protocol, senders);
  }
} finally {
  for (const sender of Object.values(senders)) sender.close();
  agent.destroy();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
await measurePeer();
