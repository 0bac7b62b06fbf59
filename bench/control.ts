/**
 * `node bench/control.ts [DASHBOARDS ALERTS]`: the throughput of the control plane over HTTP on loopback, where each
 * change is on disk before its answer, and the time of a start with all of it beside one on an empty folder. Writes
 * `results/control.json`.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOperands } from "./command/operands.ts";
import { readMachine } from "./measure/machine.ts";
import { benchPath, projectRoot } from "./paths.ts";
import { type ServerProcess, startServer } from "./server/server-process.ts";
import { formatCount, formatMs, formatTable } from "./terminal/table.ts";

const { numbers } = readOperands("node bench/control.ts [DASHBOARDS ALERTS]", {
  DASHBOARDS: 1_000,
  ALERTS: 10_000,
});
const [dashboards, alerts] = numbers as [number, number];
const widgets = 50;
/** The share of each kind that is written one after the other; `writers` write the rest concurrently. */
const sequentialShare = 0.2;
const writers = 32;
const pageRows = 1_000;
const starts = 7;
/** The server allows a token a burst of 5,000 changes, and 500 a second after it. No token exceeds the burst. */
const changesPerToken = 4_000;
interface Throughput {
  what: string;
  count: number;
  seconds: number;
}

function makeDashboard(i: number): object {
  const widget = (_: unknown, w: number) => {
    const query = `count(logs{service.name="/k8s/shop/s${w}"}) by (log_level)`;
    const expression = { queryMode: "svcql", svcQLQueries: [{ query, bucketSize: 60 }] };
    const absolute = { x: (w % 2) * 12, y: Math.floor(w / 2) * 4, w: 12, h: 4 };
    return {
      type: "chart",
      position: { type: "absolute", absolute },
      chart: { title: `Rows ${w}`, chartType: "line", expression },
    };
  };
  const content = { widgets: Array.from({ length: widgets }, widget) };
  const metadata = { id: `d${i}`, title: `Dashboard ${i}`, folderPath: "/dashboards/bench/" };
  return { dashboard: { settings: { layoutVersion: 2 }, metadata, content } };
}

function makeAlert(i: number): object {
  const query = `count(logs{service.name="/k8s/shop/s${i}", log_level="error"})`;
  const persistenceSettings = { datapointsToAlarm: 2, datapointsInEvaluationWindow: 3 };
  const operators = [{ operator: "greaterThan", threshold: 10 }];
  const evaluationRules = [{ name: "errors", static: { operators, persistenceSettings } }];
  const timeseries = { expression: { svcQLTimeseries: { query, bucketSize: 60 } }, evaluationRules };
  return { alert: { metadata: { id: `a${i}`, name: `Alert ${i}` }, timeseries } };
}

/** Hands out editors' tokens, a new one after every 4,000 changes. */
class Tokens {
  readonly #server: ServerProcess;
  #token = "";
  #changes = changesPerToken;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  async forChange(): Promise<string> {
    if (this.#changes++ < changesPerToken) return this.#token;
    this.#changes = 1;
    const made = await sendRequest(this.#server, this.#server.token, "tokens", { role: "editor" });
    this.#token = String(made.token);
    return this.#token;
  }
}

async function sendRequest(
  server: ServerProcess,
  token: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.url}/api/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function measureTime(what: string, count: number, act: () => Promise<unknown>): Promise<Throughput> {
  const begunMs = performance.now();
  await act();
  return { what, count, seconds: (performance.now() - begunMs) / 1000 };
}

/** Calls `act` with every number from `from` up to `to` - 1, `concurrency` calls at a time. */
async function runConcurrently(
  from: number,
  to: number,
  concurrency: number,
  act: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = from;
  const inTurn = async () => {
    while (next < to) await act(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, inTurn));
}

async function measureKind(
  server: ServerProcess,
  kind: string,
  count: number,
  make: (i: number) => object,
): Promise<Throughput[]> {
  const tokens = new Tokens(server);
  const upsert = async (i: number) =>
    sendRequest(server, await tokens.forChange(), `${kind}/update`, make(i));
  const read = (i: number) => sendRequest(server, server.token, `${kind}/${kind[0]}${i}`);
  const alone = Math.ceil(count * sequentialShare);
  return [
    await measureTime(`${kind}: upsert, one after the other`, alone, () =>
      runConcurrently(0, alone, 1, upsert),
    ),
    await measureTime(`${kind}: upsert, ${writers} at once`, count - alone, () =>
      runConcurrently(alone, count, writers, upsert),
    ),
    await measureTime(`${kind}: list, pages of ${formatCount(pageRows)}`, count, () =>
      listAll(server, kind, count),
    ),
    await measureTime(`${kind}: read, one after the other`, alone, () => runConcurrently(0, alone, 1, read)),
  ];
}

async function listAll(server: ServerProcess, kind: string, count: number): Promise<void> {
  let listed = 0;
  let cursor = "";
  do {
    const page = await sendRequest(server, server.token, `${kind}?limit=${pageRows}${cursor}`);
    listed += (page[kind] as unknown[]).length;
    cursor = page.cursor === undefined ? "" : `&cursor=${encodeURIComponent(String(page.cursor))}`;
  } while (cursor !== "");
  if (listed !== count) throw new Error(`${listed} ${kind} were listed of ${count}`);
}

/** The median milliseconds, for each folder, from starting the process until its first answer. Folders take turns. */
async function measureStarts(dirs: readonly string[]): Promise<number[]> {
  const samples = dirs.map((): number[] => []);
  for (let round = 0; round < starts; round++) {
    for (const [i, dir] of dirs.entries()) {
      const begunMs = performance.now();
      const server = await startServer(dir, projectRoot);
      await fetch(`${server.url}/ready`);
      samples[i]!.push(performance.now() - begunMs);
      await server.stop();
    }
  }
  return samples.map((of) => of.sort((a, b) => a - b)[Math.floor(starts / 2)]!);
}

async function measureAll(folder: string): Promise<void> {
  const [full, empty] = [join(folder, "full"), join(folder, "empty")];
  const server = await startServer(full, projectRoot);
  const throughputs = [
    ...(await measureKind(server, "dashboards", dashboards, makeDashboard)),
    ...(await measureKind(server, "alerts", alerts, makeAlert)),
  ];
  await server.stop();
  const [fullMs, emptyMs] = await measureStarts([full, empty]);
  const rows = throughputs.map(({ what, count, seconds }) => [
    ...[what, formatCount(count), formatMs(seconds * 1000), formatCount(Math.round(count / seconds))],
  ]);
  process.stdout.write(
    formatTable(
      [
        { title: "what", align: "left" },
        ...["count", "ms", "a second"].map((title) => ({ title, align: "right" as const })),
      ],
      [
        ...rows,
        ["start, empty folder", "", formatMs(emptyMs!), ""],
        [
          `start, with all (${(fullMs! / emptyMs!).toFixed(2)} times the empty one)`,
          "",
          formatMs(fullMs!),
          "",
        ],
      ],
    ),
  );
  const result = {
    machine: readMachine(),
    dashboards,
    widgets,
    alerts,
    writers,
    paces: throughputs,
    start: { fullMs, emptyMs },
  };
  await writeFile(benchPath("results/control.json"), `${JSON.stringify(result, null, 2)}\n`);
}

const folder = await mkdtemp(join(tmpdir(), "svc-bench-control-"));
try {
  await measureAll(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
