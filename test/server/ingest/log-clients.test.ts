/** Clients of other log stores send to the server as they would to those, and searches find what they sent. */
import { hostname } from "node:os";
import { Client } from "@elastic/elasticsearch";
import { Client as Client7 } from "elasticsearch-7";
import { Client as Client8 } from "elasticsearch-8";
import pino from "pino";
import { pinoLoki } from "pino-loki";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { search, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What the test calls of a client; the versions differ in their types. */
interface DocumentClient {
  helpers: { bulk(options: object): Promise<Record<string, unknown>> };
  create(request: object): Promise<unknown>;
  index(request: object): Promise<unknown>;
  close(): unknown;
}

describe.each([
  ["7", Client7],
  ["8", Client8],
  ["9", Client],
])("@elastic/elasticsearch %s", (version, Version) => {
  let client: DocumentClient;
  const index = `logs-app-${version}`;
  const made = (i: number) => new Date(Date.now() - i).toISOString();
  beforeAll(() => {
    const auth = { username: "svc", password: server.adminToken };
    client = new Version({ node: server.url, auth }) as unknown as DocumentClient;
  });
  afterAll(() => client.close());

  test("the bulk helper", async () => {
    const documents = Array.from({ length: 2_500 }, (_, i) => ({
      "@timestamp": made(i),
      message: `bulk row ${i}`,
    }));
    const stats = await client.helpers.bulk({
      datasource: documents,
      flushBytes: 20_000,
      onDocument: () => ({ create: { _index: index } }),
    });
    expect(stats).toMatchObject({ total: 2_500, successful: 2_500, failed: 0, retry: 0 });
    const { logs } = (await search(server, { query: `logs{_index="${index}"} |= "bulk row 2499"` })).json;
    expect(logs.map(({ message }) => message)).toEqual(["bulk row 2499"]);
  });

  test("single documents, and a conflict", async () => {
    // Version 7 has the document under another name.
    const document = { "@timestamp": made(0), message: "a single document" };
    const content = version === "7" ? { body: document } : { document };
    await client.index({ index, ...content });
    await client.create({ index, id: "once", ...content });
    const second = client.create({ index, id: "once", ...content });
    await expect(second).rejects.toMatchObject({ meta: { statusCode: 409 } });
    await expect(second).rejects.toThrow(/version_conflict_engine_exception/);
    const { logs } = (await search(server, { query: `logs{_index="${index}"} |= "a single document"` })).json;
    expect(logs).toHaveLength(2);
  });
});

test("pino-loki", async () => {
  const stream = pinoLoki({
    host: server.url,
    basicAuth: { username: "svc", password: server.adminToken },
    labels: { app: "cart", namespace: "shop" },
    batching: { interval: 0.05 },
    silenceErrors: false,
  });
  const logger = pino(stream);
  for (let i = 0; i < 20; i++) logger.error({ order: i }, `loki row ${i}`);
  await new Promise((resolve) => {
    stream.on("close", resolve);
    stream.end();
  });
  const { logs } = (await search(server, { query: 'logs{service.name="/k8s/shop/cart"}' })).json;
  expect(logs).toHaveLength(20);
  const row = logs.find(({ message }) => message.includes('"loki row 7"'))!;
  const line = { level: 50, time: row.timestamp, pid: process.pid, order: 7, msg: "loki row 7" };
  expect(row).toEqual({
    timestamp: expect.any(Number),
    log_level: "error",
    message: JSON.stringify(line),
    attributes: {
      ...{ app: "cart", namespace: "shop", hostname: hostname(), level: "error" },
      "service.name": "/k8s/shop/cart",
    },
  });
});
