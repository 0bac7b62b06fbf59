/**
 * What happens to a cluster whose exporter is killed, or whose hub is away, as processes: all ends as the objects say,
 * telemetry arrives once, and the value of a Secret stands nowhere. `SVC_SOAK=1` lets the hub be away for an hour.
 */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { call } from "../../server/running.ts";
import type { KubernetesObject } from "../api-server/objects.ts";
import { ClusterAndHub, makeAlert, observability } from "./cluster-and-hub.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const outageMs = scaled(3_000, 3_600_000);
const changes = scaled(400, 1_000);
let both: ClusterAndHub;

beforeAll(async () => {
  both = await ClusterAndHub.start();
  for (const name of ["shop", "pay"])
    both.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } } as KubernetesObject);
}, 60_000);
afterAll(() => both.stop());

/** Objects of three namespaces, and what they say by the ids that the hub gives them. */
class Objects {
  readonly thresholds = new Map<string, number>();
  readonly #random: Random;
  readonly #prefix: string;

  constructor(random: Random, prefix: string) {
    this.#random = random;
    this.#prefix = prefix;
  }

  changeOne(): void {
    const namespace = this.#random.pick(["default", "shop", "pay"]);
    const name = `${this.#prefix}-${this.#random.below(60)}`;
    const id = `kubernetes-managed.prod.${namespace}.${name}`;
    if (this.thresholds.has(id) && this.#random.oneIn(3)) {
      both.api.delete({ apiVersion: observability, kind: "SvcAlert", metadata: { namespace, name } });
      this.thresholds.delete(id);
      return;
    }
    const threshold = this.#random.below(1_000_000);
    both.api.apply(makeAlert(name, { namespace, threshold }), "somebody");
    this.thresholds.set(id, threshold);
  }

  /** Waits until hub and statuses say what the objects say. */
  async settled(): Promise<void> {
    await both.until(
      async () => {
        const found = [...(await both.managed("alerts"))].filter(([id]) => id.includes(`.${this.#prefix}-`));
        const isSame = found.every(([id, alert]) => thresholdOf(alert) === this.thresholds.get(id));
        return isSame && found.length === this.thresholds.size;
      },
      `seed ${seed}: the same alerts`,
      60,
    );
    const hasStatus = (id: string) => {
      const [namespace, name] = id.split(".").slice(2) as [string, string];
      const { generation } = both.api.get({
        ...{ apiVersion: observability, kind: "SvcAlert" },
        metadata: { namespace, name },
      })!.metadata;
      const ready = both.ready("SvcAlert", name, namespace);
      return ready?.status === "True" && ready.observedGeneration === generation;
    };
    await both.until(() => [...this.thresholds.keys()].every(hasStatus), `seed ${seed}: statuses`, 60);
  }
}

function thresholdOf(alert: unknown): number {
  type Rule = { static: { operators: { threshold: number }[] } };
  const { timeseries } = alert as { timeseries: { evaluationRules: Rule[] } };
  return timeseries.evaluationRules[0]!.static.operators[0]!.threshold;
}

async function sendLogs(port: number, messages: readonly string[]): Promise<void> {
  const logRecords = messages.map((message) => ({
    timeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
    body: { stringValue: message },
  }));
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  if (response.status !== 200) throw new Error(await response.text());
}

test(`an exporter that is killed in the middle of ${changes} changes, again and again`, async () => {
  const random = new Random(seed);
  const objects = new Objects(random, "killed");
  let running = await both.startExporterProcess();
  for (let change = 0; change < changes; change++) {
    objects.changeOne();
    if (change % 10 === 9) await sleep(random.below(60));
    if (!random.oneIn(Math.floor(changes / 5))) continue;
    running.child.kill("SIGKILL");
    await running.ended;
    // What changes and goes while nobody follows.
    for (let i = random.below(40); i > 0; i--) objects.changeOne();
    running = await both.startExporterProcess();
  }
  await objects.settled();
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
}, 180_000);

test(
  "a hub that is away: changes and telemetry wait, and arrive once",
  async () => {
    const random = new Random(seed, 1);
    const objects = new Objects(random, "away");
    const sent = new Set<string>();
    let running = await both.startExporterProcess();
    const go = async (forMs: number) => {
      for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
        for (let i = random.below(5); i > 0; i--) objects.changeOne();
        const messages = Array.from({ length: random.below(50) }, (_, i) => `away ${sent.size + i}`);
        await sendLogs(running.otlpPort, messages);
        for (const message of messages) sent.add(message);
        await sleep(forMs / 60);
      }
    };
    await go(1_000);
    await both.hub.stop();
    await go(outageMs / 2);
    running.child.kill("SIGKILL");
    await running.ended;
    running = await both.startExporterProcess();
    await go(outageMs / 2);
    await both.restartHub();
    await objects.settled();
    const arrived = await both.until(async () => {
      const messages = (await both.logs('logs |= "away "')).map(({ message }) => message);
      return messages.length >= sent.size ? messages : undefined;
    }, `seed ${seed}: ${sent.size} logs`);
    expect(arrived.toSorted()).toEqual([...sent].toSorted());
    running.child.kill("SIGTERM");
    await running.ended;
  },
  2 * outageMs + 180_000,
);

test("the value of a Secret stands in no folder, log, metric, answer or backup", async () => {
  const secret = `Bearer c4nn0t-stay-${new Random(seed, 2).below(1e9)}`;
  const received: (string | undefined)[] = [];
  const receiver = createServer((request, response) => {
    received.push(request.headers.authorization);
    response
      .writeHead(received.length === 1 ? 500 : 200)
      .end(`thank you for ${request.headers.authorization}`);
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const make = (fields: object) => both.api.create(fields as KubernetesObject);
  make({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "pager", namespace: "default" } },
    data: { token: btoa(secret) },
  });
  make({
    ...{ apiVersion: observability, kind: "SvcWebhook", metadata: { name: "pager", namespace: "default" } },
    spec: {
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      headersFrom: { Authorization: { secretKeyRef: { name: "pager", key: "token" } } },
    },
  });
  const running = await both.startExporterProcess("--secret-refs");
  await both.until(() => both.ready("SvcWebhook", "pager"), "a status");
  const api = (method: string, path: string) =>
    call(both.hub, path, { method, token: both.hub.adminToken, ...(method === "POST" ? { body: "" } : {}) });
  const answers: string[] = [];
  const uuid = "kubernetes-managed.prod.default.pager";
  for (let i = 0; i < 2; i++) answers.push((await api("POST", `/api/v1/webhooks/${uuid}/test`)).text);
  expect(received).toEqual([secret, secret]);
  const { paths } = (await call<{ paths: Record<string, object> }>(both.hub, "/openapi.json")).json;
  for (const [path, methods] of Object.entries(paths)) {
    if (!("get" in methods) || path.includes("/query/tail")) continue;
    for (const id of path.includes("{") ? [uuid] : [""])
      answers.push((await api("GET", path.replace(/\{\w+\}/, id))).text);
  }
  answers.push((await api("POST", "/api/v1/backup")).text);
  answers.push(await (await fetch(`http://127.0.0.1:${running.operationsPort}/metrics`)).text());
  answers.push(
    JSON.stringify(
      both.api.get({
        ...{ apiVersion: observability, kind: "SvcWebhook" },
        metadata: { name: "pager", namespace: "default" },
      }),
    ),
  );
  answers.push(JSON.stringify(both.api.list("v1", "Event")));
  running.child.kill("SIGTERM");
  const { out, err } = await running.ended;
  answers.push(out, err, both.hub.logged.join("\n"));
  await both.hub.stop();
  expect(answers.length).toBeGreaterThan(30);
  for (const needle of [secret, secret.slice(7), btoa(secret)]) {
    for (const text of answers) expect(text).not.toContain(needle);
    for (const folder of [both.hub.dir, both.exporterFolder])
      expect(execFileSync("sh", ["-c", 'grep -rlF "$0" "$1" || true', needle, folder]).toString()).toBe("");
  }
  await both.restartHub();
  receiver.close();
}, 120_000);
