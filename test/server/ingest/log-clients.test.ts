/** Clients of other log stores send to the server as they would to those, and searches find what they sent. */
import { Client } from "@elastic/elasticsearch";
import pino from "pino";
import { pinoLoki } from "pino-loki";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { search, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test("the bulk helper of @elastic/elasticsearch", async () => {
  const client = new Client({ node: server.url, auth: { username: "svc", password: server.adminToken } });
  const documents = Array.from({ length: 2_500 }, (_, i) => ({
    "@timestamp": new Date(Date.now() - i).toISOString(),
    message: `bulk row ${i}`,
  }));
  const stats = await client.helpers.bulk({
    datasource: documents,
    flushBytes: 20_000,
    onDocument: () => ({ create: { _index: "logs-app" } }),
  });
  await client.close();
  expect(stats).toMatchObject({ total: 2_500, successful: 2_500, failed: 0, retry: 0 });
  const { logs } = (await search(server, { query: 'logs{_index="logs-app"} |= "bulk row 2499"' })).json;
  expect(logs.map(({ message }) => message)).toEqual(["bulk row 2499"]);
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
  expect(logs[0]!.log_level).toBe("error");
});
