/** What pino, winston and bunyan themselves write with their defaults, sent as it is to the endpoint of JSON lines. */
import { Writable } from "node:stream";
import bunyan from "bunyan";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import winston from "winston";
import { type Entry, type Running, startServer } from "../../running.ts";
import { findRows, send } from "../protocols/rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What is written to a stream. */
class Lines extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function store(text: string): Promise<void> {
  const got = await send(server, {
    path: "/api/v1/ingest/logs",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text,
  });
  expect(got.json).toMatchObject({ accepted: 2, refused: 0 });
}

/** The rows whose message begins with a word: both may have the same time, and the first takes something. */
async function rowsOf(word: string): Promise<Entry[]> {
  const rows = await findRows(server, `logs{} |= "${word} "`);
  return rows.sort((a, b) => Number(b.message.includes("takes")) - Number(a.message.includes("takes")));
}

const failure = Object.assign(new Error("card declined"), { code: "E_CARD" });

test("pino", async () => {
  const lines = new Lines();
  const beforeMs = Date.now();
  const logger = pino({ base: { pid: 7, hostname: "node-1" } }, lines);
  logger.child({ requestId: "r1" }).info({ user: { id: 3 } }, "pino takes an order");
  logger.error({ err: failure }, "pino lost an order");
  await store(lines.text);
  const [info, error] = await rowsOf("pino");
  expect(info).toEqual({
    timestamp: expect.any(Number),
    log_level: "30",
    message: "pino takes an order",
    attributes: { level: "30", pid: "7", hostname: "node-1", requestId: "r1", "user.id": "3" },
  });
  expect(info!.timestamp).toBeGreaterThanOrEqual(beforeMs);
  expect(error).toMatchObject({
    log_level: "50",
    message: "pino lost an order",
    attributes: { "err.message": "card declined", "err.code": "E_CARD", "err.stack": failure.stack },
  });
  expect(await findRows(server, 'logs{log_level="error"} |= "pino"')).toEqual([error]);
});

test("winston, whose JSON has no time unless it is asked for", async () => {
  const lines = new Lines();
  const { combine, timestamp, json } = winston.format;
  const format = combine(timestamp(), json());
  const logger = winston.createLogger({
    format,
    transports: [new winston.transports.Stream({ stream: lines })],
  });
  const beforeMs = Date.now();
  logger.info("winston takes an order", { requestId: "r1", user: { id: 3 } });
  logger.warn("winston waits");
  await store(lines.text);
  const [info, warning] = await rowsOf("winston");
  expect(info).toEqual({
    timestamp: expect.any(Number),
    log_level: "info",
    message: "winston takes an order",
    attributes: { level: "info", requestId: "r1", "user.id": "3" },
  });
  expect(info!.timestamp).toBeGreaterThanOrEqual(beforeMs);
  expect([warning!.log_level, warning!.message]).toEqual(["warn", "winston waits"]);
});

test("bunyan", async () => {
  const lines = new Lines();
  const logger = bunyan.createLogger({ name: "shop", hostname: "node-1", stream: lines });
  const beforeMs = Date.now();
  logger.child({ requestId: "r1" }).info({ user: { id: 3 } }, "bunyan takes an order");
  logger.fatal(failure, "bunyan lost an order");
  await store(lines.text);
  const [info, fatal] = await rowsOf("bunyan");
  expect(info).toEqual({
    timestamp: expect.any(Number),
    log_level: "30",
    message: "bunyan takes an order",
    attributes: {
      ...{ level: "30", name: "shop", hostname: "node-1", pid: String(process.pid), v: "0" },
      ...{ requestId: "r1", "user.id": "3" },
    },
  });
  expect(info!.timestamp).toBeGreaterThanOrEqual(beforeMs);
  expect(fatal).toMatchObject({
    log_level: "60",
    message: "bunyan lost an order",
    attributes: { "err.message": "card declined", "err.code": "E_CARD" },
  });
  expect(await findRows(server, 'logs{log_level="fatal"} |= "bunyan"')).toEqual([fatal]);
});
