/** svc backup and svc restore, with servers that take rows meanwhile, and that are killed. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { runSvc, type Started, startSvc } from "../command/program.ts";
import { dashboard, silence } from "../control/samples.ts";
import { lines } from "../running.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-backup-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nowMs = Date.now();
const jsonType = { "Content-Type": "application/json" };

interface Server {
  svc: Started;
  url: string;
  token: string;
}

async function serve(data: string, ...more: string[]): Promise<Server> {
  const svc = startSvc(["serve", "--data", data, "--listen", "127.0.0.1:0", ...more]);
  const [url] = /http:\/\/\S+/.exec(await svc.printed("admin token"))!;
  return { svc, url, token: readFileSync(join(data, "admin-token"), "utf8").trim() };
}

async function stop({ svc }: Server): Promise<string> {
  svc.child.kill("SIGTERM");
  return (await svc.ended).err;
}

async function send({ url, token }: Server, path: string, body: unknown, headers = jsonType) {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const authorization = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...headers, ...authorization },
    body: sent,
  });
  const text = await answer.text();
  expect([path, answer.status, answer.status === 200 ? "" : text]).toEqual([path, 200, ""]);
  return JSON.parse(text) as Record<string, unknown>;
}

async function read({ url, token }: Server, path: string): Promise<string> {
  const answer = await fetch(`${url}${path}`, { headers: { Authorization: `Bearer ${token}` } });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.text();
}

async function count(server: Server, query: string): Promise<number> {
  const asked = { query, startTime: 0, endTime: nowMs + 86_400_000, bucketSize: 3_155_760_000 };
  const { series } = await send(server, "/api/v1/query/timeseries", asked);
  return (series as { points: [number, number][] }[])[0]?.points[0]?.[1] ?? 0;
}

const padding = "x".repeat(100);
/** Where a command takes its time. */
const progressLines = expect.stringMatching(/^(?:[\d.]+ of [\d.]+ MB (?:copied|checked), .*\n)*$/) as unknown;
const batchRows = 200;

/** The number of the last batch of each kind that was acknowledged. */
class Writers {
  readonly acknowledged = { logs: 0, spans: 0, metrics: 0, dashboards: 0 };
  #isOver = false;
  #running: Promise<unknown>;

  constructor(server: Server) {
    this.#running = Promise.all([
      this.#on("logs", (i) =>
        this.#rows(server, "logs", i, (row) => ({ timestamp: nowMs, message: row + padding })),
      ),
      this.#on("spans", (i) => {
        const nano = `${nowMs}000000`;
        const times = { startTimeUnixNano: nano, endTimeUnixNano: nano };
        return this.#rows(server, "spans", i, (row) => ({
          ...times,
          traceId: hex(row, 32),
          spanId: hex(row, 16),
          name: row,
        }));
      }),
      this.#on("metrics", (i) =>
        this.#rows(server, "metrics", i, (row) => ({
          timestamp: nowMs,
          name: "m",
          labels: { row },
          value: 1,
        })),
      ),
      this.#on("dashboards", (i) => {
        const metadata = { ...dashboard.metadata, id: `d${i}` };
        return send(server, "/api/v1/dashboards/update", { dashboard: { ...dashboard, metadata } });
      }),
    ]);
  }

  /** Throws where a write was refused, unless the server was killed. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #rows(server: Server, what: string, batch: number, rowOf: (row: string) => object): Promise<void> {
    const rows = Array.from({ length: batchRows }, (_, i) => rowOf(`${batch}-${i}`));
    const headers = { "Content-Type": "application/x-ndjson" };
    await send(server, `/api/v1/ingest/${what}`, lines(rows), headers);
  }

  async #on(kind: keyof Writers["acknowledged"], write: (number: number) => Promise<unknown>): Promise<void> {
    for (let i = 1; !this.#isOver; i++) {
      try {
        await write(i);
        this.acknowledged[kind] = i;
      } catch (error) {
        if (!this.#isOver) throw error;
      }
      await setTimeout(40);
    }
  }
}

function hex(text: string, length: number): string {
  return Buffer.from(text).toString("hex").padStart(length, "a");
}

const alert = {
  metadata: { id: "many", name: "Many rows" },
  timeseries: {
    expression: { svcQLTimeseries: { query: "count(logs)", bucketSize: 60 } },
    evaluationRules: [
      {
        name: "any",
        static: {
          operators: [{ operator: "greaterThan", threshold: 0 }],
          persistenceSettings: { datapointsToAlarm: 1, datapointsInEvaluationWindow: 3 },
        },
        actions: [{ type: "slack", slackDestination: { channel: "#ops" } }],
      },
    ],
  },
};

/** What a server has of each kind that the writers write. */
async function held(server: Server) {
  return {
    logs: (await count(server, 'count(logs{audit=""})')) / batchRows,
    spans: (await count(server, "count(traces)")) / batchRows,
    metrics: (await count(server, "count(m)")) / batchRows,
    dashboards: Number(/d(\d+)/.exec((await ids(server)).at(-1)!)![1]),
  };
}

async function ids(server: Server): Promise<string[]> {
  const all: string[] = [];
  for (let cursor = ""; ; ) {
    const page = JSON.parse(await read(server, `/api/v1/dashboards?limit=1000${cursor}`));
    all.push(
      ...(page.dashboards as { id?: string; metadata: { id: string } }[]).map(({ metadata }) => metadata.id),
    );
    if (page.cursor === undefined) break;
    cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
  return all.sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
}

/** Everything that was acknowledged is there, whole, and nothing that nobody sent. */
function expectBetween(
  found: Record<string, number>,
  atLeast: Record<string, number>,
  atMost: Record<string, number>,
) {
  for (const [kind, number] of Object.entries(found)) {
    expect([kind, Number.isInteger(number), number >= atLeast[kind]!, number <= atMost[kind]! + 1]).toEqual([
      ...[kind, true, true, true],
    ]);
  }
}

/** The backup has begun to write. */
async function begun(dir: string): Promise<void> {
  while (!existsSync(`${dir}.partial`)) await setTimeout(2);
}

test("a running server's backup is a server of its own, whoever is killed leaves none that is half", async () => {
  const data = join(folder, "data");
  const server = await serve(data);
  await send(server, "/api/v1/alerts/update", { alert });
  const { id: _, alertIds, ...night } = silence;
  const window = { ...night, alertIds: alertIds.map(() => alert.metadata.id) };
  const { id: silenceId } = await send(server, "/api/v1/silences", { silence: window });
  const viewer = await send(server, "/api/v1/tokens", { role: "viewer" });
  const writers = new Writers(server);
  await setTimeout(1_000);

  const dir = join(folder, "backup");
  const words = ["backup", dir, "--url", server.url, "--data", data];
  const refused = await fetch(`${server.url}/api/v1/backup`, {
    method: "POST",
    headers: { Authorization: `Bearer ${String(viewer.token)}` },
  });
  expect([refused.status, await refused.text()]).toEqual([
    403,
    expect.stringContaining("may not back up: it takes admin"),
  ]);
  const killed = startSvc(words);
  await begun(dir);
  killed.child.kill("SIGKILL");
  await killed.ended;
  expect(existsSync(dir)).toBe(false);
  const atLeast = { ...writers.acknowledged };
  const made = await runSvc(words);
  const atMost = { ...writers.acknowledged };
  expect([made.code, made.err]).toEqual([0, progressLines]);
  expect(made.out).toMatch(/^backup of \S+Z in \S+: [\d,]+ bytes\n$/);
  expect(Object.values(atLeast).every((number) => number > 0)).toBe(true);
  expect(await read(server, "/metrics")).toContain("svc_notifications_held 0");

  const cut = join(folder, "cut");
  const broken = startSvc(["backup", cut, "--url", server.url, "--data", data]);
  await begun(cut);
  const dying = writers.end();
  server.svc.child.kill("SIGKILL");
  await Promise.allSettled([server.svc.ended, dying]);
  // The last byte may have come before the server died.
  const { code } = await broken.ended;
  expect([existsSync(cut), existsSync(`${cut}.partial`)]).toEqual([code === 0, false]);

  const offline = join(folder, "offline");
  expect(await runSvc(["backup", offline, "--data", data])).toMatchObject({ code: 0, err: progressLines });
  for (const [from, least, most, flags] of [
    [dir, atLeast, atMost, []],
    [offline, writers.acknowledged, writers.acknowledged, ["--notify-restored"]],
  ] as const) {
    const restored = `${from}-restored`;
    expect(await runSvc(["restore", from, "--data", restored])).toMatchObject({
      code: 0,
      err: progressLines,
    });
    const copy = await serve(restored, ...flags);
    expect(copy.token).toBe(server.token);
    expectBetween(await held(copy), least, most);
    expect(JSON.parse(await read(copy, "/api/v1/alerts/many"))).toMatchObject({ alert });
    expect(await read(copy, `/api/v1/silences/${String(silenceId)}`)).toContain("planned work");
    expect(await read(copy, "/api/v1/tokens")).toContain(String(viewer.id));
    const isHeld = flags.length === 0;
    expect(await read(copy, "/metrics")).toContain(`svc_notifications_held ${Number(isHeld)}`);
    const said = "notifications wait until the server is started with --notify-restored";
    expect((await stop(copy)).includes(said)).toBe(isHeld);
    expect(existsSync(join(restored, "restored"))).toBe(isHeld);
  }
}, 300_000);

test("folders that are no backup, or that nobody named", async () => {
  const restored = await runSvc(["restore", join(folder, "nothing"), "--data", join(folder, "new")]);
  expect([restored.code, restored.err]).toEqual([
    1,
    expect.stringContaining("is no backup, or one that was not finished"),
  ]);
  const nobody = await runSvc(["backup", join(folder, "b"), "--url", "http://127.0.0.1:1"]);
  expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining("nothing listens on")]);
});
