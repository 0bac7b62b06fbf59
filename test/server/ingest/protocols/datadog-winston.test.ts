/** A client of winston's for Datadog. It has the token in the path, and sends to Datadog's own name over TLS alone. */
import https from "node:https";
import { type AddressInfo, connect as connectPlainly, type Socket } from "node:net";
import { connect, createServer, type Server } from "node:tls";
// @ts-expect-error: the package has no types.
import DatadogTransport from "datadog-winston";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import winston from "winston";
import { makeAuthority } from "../../../kubernetes/api-server/certificate.ts";
import { type Running, startServer } from "../../running.ts";
import { findRows } from "./rows.ts";

const name = "http-intake.logs.datadoghq.com";
const authority = makeAuthority();
const { globalAgent } = https;
/** A second, which is the default, is too short on a machine that others use. */
const waitMs = 15_000;
let server: Running;
let front: Server;

/** Ends TLS in front of the server, as a reverse proxy does. */
async function startFront(): Promise<void> {
  const { certPem: cert, keyPem: key } = authority.issueServer([name], []);
  const { port } = new URL(server.url);
  front = createServer({ cert, key }, (secure) => {
    const plain = connectPlainly({ host: "127.0.0.1", port: Number(port) });
    secure.pipe(plain).pipe(secure);
    for (const socket of [secure, plain] as Socket[]) socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
}

beforeAll(async () => {
  server = await startServer({ hostNames: [name] });
  await startFront();
  const { port } = front.address() as AddressInfo;
  const agent = new https.Agent({ ca: authority.certPem });
  agent.createConnection = () =>
    connect({ host: "127.0.0.1", port, servername: name, ca: authority.certPem });
  https.globalAgent = agent;
});
afterAll(async () => {
  https.globalAgent = globalAgent;
  front.close();
  await server.stop();
});

test("levels, times, fields, tags and parameters arrive", async () => {
  const own = {
    ...{ apiKey: server.adminToken, hostname: "h7", service: "cart", ddsource: "nodejs", ddtags: "env:dev" },
  };
  const logger = winston.createLogger({
    format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
    transports: [new DatadogTransport(own)],
  });
  const began = Date.now();
  logger.warn("payment slow", { order: 17, dd: { trace_id: "12", span_id: "34" }, ddtags: "team:a" });
  logger.error("no stock");
  const rows = await vi.waitFor(async () => {
    const found = await findRows(server, 'logs{host.name="h7"}');
    expect(found.length).toBe(2);
    return found;
  }, waitMs);
  const shared = {
    ...{ "host.name": "h7", "service.name": "cart", ddsource: "nodejs" },
    "deployment.environment.name": "dev",
  };
  const [slow, none] = rows.sort((a, b) => b.message.localeCompare(a.message));
  expect([slow!.log_level, slow!.message, slow!.attributes]).toEqual([
    "warn",
    "payment slow",
    {
      ...{ ...shared, level: "warn", order: "17", team: "a" },
      ...{ "dd.trace_id": "12", "dd.span_id": "34", trace_id: "12", span_id: "34" },
    },
  ]);
  expect([none!.log_level, none!.message, none!.attributes]).toEqual([
    "error",
    "no stock",
    { ...shared, level: "error" },
  ]);
  for (const { timestamp } of rows) expect(Math.abs(timestamp - began)).toBeLessThan(5_000);
});
