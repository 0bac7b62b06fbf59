/**
 * `node bench/kubernetes-sync.ts [OBJECTS [CHANGES]]`: how long a change of a custom resource takes to the hub and to
 * its status, and how long the objects of a cluster take that meets its exporter for the first time. The API server is
 * the one of the tests; hub and exporter are processes as users run them.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readOperands } from "./command/operands.ts";
import { ApiServerClient, end, type Started, startProgram } from "./kubernetes/cluster-process.ts";
import { readCpuMs, readMemoryBytesPeak } from "./measure/process.ts";
import { openAgent, type ServerProcess, startServer } from "./server/server-process.ts";

const usage = "node bench/kubernetes-sync.ts [OBJECTS [CHANGES]]";
const { numbers } = readOperands(usage, { OBJECTS: 5_000, CHANGES: 50 });
const [objectCount, changeCount] = numbers as [number, number];
const alerts = "/apis/observability.svc.example/v1alpha1/namespaces/default/svcalerts";
const waitMsMax = 300_000;
const thresholdPath = "/spec/timeseries/evaluationRules/0/static/operators/0/threshold";

interface Condition {
  type: string;
  status: string;
  observedGeneration: number;
}
interface AlertObject {
  metadata: { name: string; generation: number };
  status?: { conditions?: Condition[] };
}

const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
const hub = await startServer(join(dir, "hub"), join(import.meta.dirname, ".."));
const api = await startProgram("test/kubernetes/api-server/api-server-process.ts", [join(dir, "kubeconfig")]);
const cluster = new ApiServerClient(api.line);
try {
  await writeFile(join(dir, "token"), await makeEnvironment(hub));
  await measureFirstMeeting();
  await measureChanges();
} finally {
  await end(api.child, "SIGTERM");
  await hub.stop();
  await rm(dir, { recursive: true });
}

async function makeEnvironment(server: ServerProcess): Promise<string> {
  const agent = openAgent(1);
  const body = Buffer.from('{"environment":{"name":"bench"}}');
  const { token } = await server.post("/api/v1/environments/create", body, agent);
  agent.destroy();
  return token as string;
}

function startExporter(): Promise<Started> {
  const words = ["exporter", "--hub", hub.url, "--token-file", join(dir, "token")];
  const place = ["--kubeconfig", join(dir, "kubeconfig"), "--data", join(dir, "exporter")];
  return startProgram("server/main.ts", [
    ...[...words, ...place],
    ...["--operations", "127.0.0.1:0", "--listen", "127.0.0.1:0"],
  ]);
}

/** All objects are there before the exporter is. */
async function measureFirstMeeting(): Promise<void> {
  for (let at = 0; at < objectCount; at += 20) {
    const some = Array.from({ length: Math.min(20, objectCount - at) }, (_, i) =>
      makeAlert(`alert-${at + i}`, 1),
    );
    await Promise.all(some.map((alert) => cluster.send("POST", alerts, alert)));
  }
  const startedAtMs = performance.now();
  const { child } = await startExporter();
  await until(async () => {
    const { items } = await cluster.send<{ items: AlertObject[] }>("GET", alerts);
    return items.every(isReady);
  }, 250);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const peak = await readMemoryBytesPeak(child.pid!);
  const cpuMs = await readCpuMs(child.pid!);
  const count = objectCount.toLocaleString("en");
  console.log(`${count} objects, from the exporter's start to the last status: ${seconds.toFixed(1)} s`);
  if (peak !== null && cpuMs !== null) {
    const memory = (peak / 2 ** 20).toFixed(0);
    console.log(`exporter: ${memory} MiB of memory at its peak, ${(cpuMs / 1_000).toFixed(1)} s of CPU`);
  }
  await end(child, "SIGTERM");
}

/** One object after the other changes, with all others there. */
async function measureChanges(): Promise<void> {
  const { child } = await startExporter();
  await until(async () => isReady(await cluster.send("GET", `${alerts}/alert-0`)), 50);
  // The whole list was sent again at the start; changes that follow wait behind nothing.
  await sleep(10_000);
  const atHub: number[] = [];
  const inStatus: number[] = [];
  for (let i = 0; i < changeCount; i++) {
    const name = `alert-${i % objectCount}`;
    const threshold = 1_000 + i;
    const startedAtMs = performance.now();
    const change = [{ op: "replace", path: thresholdPath, value: threshold }];
    await cluster.send("PATCH", `${alerts}/${name}`, change, "application/json-patch+json");
    const path = `/api/v1/alerts/kubernetes-managed.bench.default.${name}`;
    await until(async () => (await hub.get(path)).includes(`"threshold":${threshold}`), 5);
    atHub.push(performance.now() - startedAtMs);
    await until(async () => isReady(await cluster.send("GET", `${alerts}/${name}`)), 5);
    inStatus.push(performance.now() - startedAtMs);
  }
  console.log(`a change among them at the hub: ${describe(atHub)}; in its status: ${describe(inStatus)}`);
  const peak = await readMemoryBytesPeak(child.pid!);
  if (peak !== null) console.log(`exporter: ${(peak / 2 ** 20).toFixed(0)} MiB of memory at its peak`);
  await end(child, "SIGTERM");
}

function describe(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  return `median ${median.toFixed(0)} ms, longest ${sorted.at(-1)!.toFixed(0)} ms of ${sorted.length}`;
}

function isReady({ metadata, status }: AlertObject): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: is, observedGeneration }) =>
      type === "Ready" && is === "True" && observedGeneration === metadata.generation,
  );
}

async function until(ask: () => Promise<boolean>, everyMs: number): Promise<void> {
  const startedAtMs = performance.now();
  while (!(await ask())) {
    if (performance.now() - startedAtMs > waitMsMax) throw new Error(`not within ${waitMsMax / 1_000} s`);
    await sleep(everyMs);
  }
}

function makeAlert(name: string, threshold: number): object {
  const persistenceSettings = { datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 };
  const operators = [{ operator: "greaterThan", threshold }];
  return {
    apiVersion: "observability.svc.example/v1alpha1",
    kind: "SvcAlert",
    metadata: { name, namespace: "default" },
    spec: {
      timeseries: {
        expression: { svcQLTimeseries: { query: `count(logs{service.name="${name}"})`, bucketSize: 60 } },
        evaluationRules: [{ name: "r", type: "static", static: { operators, persistenceSettings } }],
      },
    },
  };
}
