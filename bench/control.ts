/**
 * `node bench/control.ts [DASHBOARDS ALERTS]`: the pace of the control plane over HTTP on loopback, each change on disk before its
 * answer, and how long a start takes with all of it beside one on an empty folder. Writes results/control.json.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Server, startServer } from "./http.ts";
import { machineFacts } from "./machine.ts";
import { readOperands } from "./operands.ts";
import { formatTable, grouped, shortMs } from "./table.ts";

const { numbers } = readOperands("node bench/control.ts [DASHBOARDS ALERTS]", {
  DASHBOARDS: 1_000,
  ALERTS: 10_000,
});
const [dashboards, alerts] = numbers as [number, number];
const widgets = 50;
/** Of each kind this share is written one after the other, the rest by `writers`. */
const sequentialShare = 0.2;
const writers = 32;
const pageRows = 1_000;
const starts = 7;
/** A caller has 5,000 changes at once and 500 a second: each token makes fewer than that. */
const changesPerToken = 4_000;
const root = join(import.meta.dirname, "..");

interface Pace {
  what: string;
  count: number;
  seconds: number;
}

function dashboard(i: number): object {
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

function alert(i: number): object {
  const query = `count(logs{service.name="/k8s/shop/s${i}", log_level="error"})`;
  const persistenceSettings = { datapointsToAlarm: 2, datapointsInEvaluationWindow: 3 };
  const operators = [{ operator: "greaterThan", threshold: 10 }];
  const evaluationRules = [{ name: "errors", static: { operators, persistenceSettings } }];
  const timeseries = { expression: { svcQLTimeseries: { query, bucketSize: 60 } }, evaluationRules };
  return { alert: { metadata: { id: `a${i}`, name: `Alert ${i}` }, timeseries } };
}

class Tokens {
  readonly #server: Server;
  #token = "";
  #changes = changesPerToken;

  constructor(server: Server) {
    this.#server = server;
  }

  async forChange(): Promise<string> {
    if (this.#changes++ < changesPerToken) return this.#token;
    this.#changes = 1;
    const made = await ask(this.#server, this.#server.token, "tokens", { role: "editor" });
    this.#token = String(made.token);
    return this.#token;
  }
}

async function ask(
  server: Server,
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

async function timed(what: string, count: number, act: () => Promise<unknown>): Promise<Pace> {
  const begunMs = performance.now();
  await act();
  return { what, count, seconds: (performance.now() - begunMs) / 1000 };
}

/** Numbers from `from` on to `to`, so many at a time. */
async function each(
  from: number,
  to: number,
  atOnce: number,
  act: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = from;
  const inTurn = async () => {
    while (next < to) await act(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, inTurn));
}

async function paceOf(
  server: Server,
  kind: string,
  count: number,
  make: (i: number) => object,
): Promise<Pace[]> {
  const tokens = new Tokens(server);
  const upsert = async (i: number) => ask(server, await tokens.forChange(), `${kind}/update`, make(i));
  const read = (i: number) => ask(server, server.token, `${kind}/${kind[0]}${i}`);
  const alone = Math.ceil(count * sequentialShare);
  return [
    await timed(`${kind}: upsert, one after the other`, alone, () => each(0, alone, 1, upsert)),
    await timed(`${kind}: upsert, ${writers} at once`, count - alone, () =>
      each(alone, count, writers, upsert),
    ),
    await timed(`${kind}: list, pages of ${grouped(pageRows)}`, count, () => list(server, kind, count)),
    await timed(`${kind}: read, one after the other`, alone, () => each(0, alone, 1, read)),
  ];
}

async function list(server: Server, kind: string, count: number): Promise<void> {
  let listed = 0;
  let cursor = "";
  do {
    const page = await ask(server, server.token, `${kind}?limit=${pageRows}${cursor}`);
    listed += (page[kind] as unknown[]).length;
    cursor = page.cursor === undefined ? "" : `&cursor=${encodeURIComponent(String(page.cursor))}`;
  } while (cursor !== "");
  if (listed !== count) throw new Error(`${listed} ${kind} were listed of ${count}`);
}

/** Milliseconds from the process to its first answer, of both folders in turn; the medians. */
async function startMs(dirs: readonly string[]): Promise<number[]> {
  const samples = dirs.map((): number[] => []);
  for (let round = 0; round < starts; round++) {
    for (const [i, dir] of dirs.entries()) {
      const begunMs = performance.now();
      const server = await startServer(dir, root);
      await fetch(`${server.url}/ready`);
      samples[i]!.push(performance.now() - begunMs);
      await server.stop();
    }
  }
  return samples.map((of) => of.sort((a, b) => a - b)[Math.floor(starts / 2)]!);
}

async function measure(folder: string): Promise<void> {
  const [full, empty] = [join(folder, "full"), join(folder, "empty")];
  const server = await startServer(full, root);
  const paces = [
    ...(await paceOf(server, "dashboards", dashboards, dashboard)),
    ...(await paceOf(server, "alerts", alerts, alert)),
  ];
  await server.stop();
  const [fullMs, emptyMs] = await startMs([full, empty]);
  const rows = paces.map(({ what, count, seconds }) => [
    ...[what, grouped(count), shortMs(seconds * 1000), grouped(Math.round(count / seconds))],
  ]);
  process.stdout.write(
    formatTable(
      [
        { title: "what", align: "left" },
        ...["count", "ms", "a second"].map((title) => ({ title, align: "right" as const })),
      ],
      [
        ...rows,
        ["start, empty folder", "", shortMs(emptyMs!), ""],
        [
          `start, with all (${(fullMs! / emptyMs!).toFixed(2)} times the empty one)`,
          "",
          shortMs(fullMs!),
          "",
        ],
      ],
    ),
  );
  const result = {
    machine: machineFacts(),
    dashboards,
    widgets,
    alerts,
    writers,
    paces,
    start: { fullMs, emptyMs },
  };
  await writeFile(join(import.meta.dirname, "results/control.json"), `${JSON.stringify(result, null, 2)}\n`);
}

const folder = await mkdtemp(join(tmpdir(), "svc-bench-control-"));
try {
  await measure(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
