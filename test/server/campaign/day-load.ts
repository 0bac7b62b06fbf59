/**
 * All that a server is asked in a day: rows by every protocol, searches, tails that come and go, alerts that are saved,
 * changed and deleted and fire to a webhook, tokens made and revoked, sessions, dashboards, silences and backups.
 * Nothing is left of a step but rows, so what the server holds does not grow by it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../../fixtures/random.ts";
import { alert, dashboard } from "../control/samples.ts";
import { sendSyslog } from "../ingest/syslog-sender.ts";
import { openTail } from "../search/tail-reader.ts";
import { makeBody, rowsPerBody, type SentBody, sendBody } from "./bodies.ts";
import { type Answer, ask, jsonType, type ServerProcess } from "./server-process.ts";

export type Addressed = Pick<ServerProcess, "url" | "token" | "grpcPort">;

const minuteMs = 60_000;
/** Between two steps of one client. */
const pauseMs = 25;
const stepMsMax = 60_000;
const api = "/api/v1";

const queries = [
  ["logs", { query: "logs", limit: 50 }],
  ["logs", { query: 'logs |= "message"', limit: 200 }],
  ["traces", { query: "traces", limit: 50 }],
  ["timeseries", { query: 'count(logs{batch!=""}) by (batch)', bucketSize: 3_600 }],
  ["timeseries", { query: "count(m) by (i)", bucketSize: 60 }],
  ["histogram", { query: "logs" }],
  ["fields", { query: "logs", signal: "logs" }],
  ["patterns", { query: "logs" }],
] as const;

export class DayLoad {
  readonly sent: SentBody[] = [];
  /** Steps of each kind that were made. */
  readonly counts = new Map<string, number>();
  /** What must not happen, in sentences. */
  readonly problems: string[] = [];
  readonly #server: Addressed;
  readonly #syslogPort: number;
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #hookUrl: string;
  #next = 0;
  #hook: string | undefined;
  #isPaused = true;

  constructor(
    server: Addressed & { syslogPort: number },
    options: { random: Random; nowMs: () => number; hookUrl: string },
  ) {
    this.#server = server;
    this.#syslogPort = server.syslogPort;
    this.#random = options.random;
    this.#nowMs = options.nowMs;
    this.#hookUrl = options.hookUrl;
  }

  /** Runs all clients for a time; resolves once each has ended its last step. */
  async run(ms: number): Promise<void> {
    this.#isPaused = false;
    const repeat = (name: string, step: () => Promise<void>) => this.#repeat(name, step);
    const work = [
      ...Array.from({ length: 3 }, () => repeat("bodies", () => this.#sendRows())),
      ...Array.from({ length: 2 }, () => repeat("searches", () => this.#search())),
      ...Array.from({ length: 3 }, () => repeat("tails", () => this.#tail())),
      repeat("alerts", () => this.#useAlert()),
      repeat("tokens", () => this.#useToken()),
      repeat("sessions", () => this.#useSession()),
      repeat("dashboards", () => this.#useDashboard()),
      repeat("silences", () => this.#useSilence()),
      repeat("backups", () => this.#takeBackup()),
      sendSyslog(this.#syslogPort, "syslog", () => this.#isPaused),
    ];
    await sleep(ms);
    this.#isPaused = true;
    await Promise.all(work);
  }

  async #repeat(name: string, step: () => Promise<void>): Promise<void> {
    while (!this.#isPaused) {
      try {
        await Promise.race([step(), failLate()]);
        this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      } catch (error) {
        this.problems.push(`${name}: ${String(error)}`);
      }
      await sleep(pauseMs);
    }
  }

  async #sendRows(): Promise<void> {
    const number = this.#next++;
    const body = makeBody(number, Math.floor(this.#nowMs()) - rowsPerBody);
    this.sent.push(body);
    expectTaken(body.path, await sendBody(this.#server, body));
    body.isAcknowledged = true;
  }

  async #search(): Promise<void> {
    const [path, body] = this.#pick(queries);
    const endTime = Math.floor(this.#nowMs());
    const startTime = endTime - this.#random.between(1, 120) * minuteMs;
    await this.#ask("POST", `/query/${path}`, { ...body, startTime, endTime });
  }

  /** Reads a tail for a while and leaves, at any time. */
  async #tail(): Promise<void> {
    const tail = await openTail(this.#server as never, {
      query: this.#pick(["", 'logs{batch!=""}', "traces"]),
      token: this.#server.token,
    });
    if (tail.status !== 200) throw new Error(`${tail.status}`);
    await sleep(this.#random.between(0, 400));
    tail.leave();
    await tail.ended;
  }

  /** Saves an alert that fires at once, changes it so that it resolves, and deletes it. */
  async #useAlert(): Promise<void> {
    // The webhook stays: a notification that finds it deleted is given up, and logged as an error.
    this.#hook ??= await this.#createHook();
    const uuid = this.#hook;
    const id = await this.#create("/alerts/update", { alert: alertOf(uuid, 0) });
    await sleep(this.#random.between(500, 3_000));
    await this.#ask("POST", "/alerts/update", { alert: alertOf(uuid, 1e9, id) });
    await sleep(this.#random.between(0, 500));
    await this.#ask("GET", `/alerts/${id}/state`);
    await this.#ask("DELETE", `/alerts/${id}`);
  }

  async #useToken(): Promise<void> {
    const made = await this.#ask("POST", "/tokens", { name: "day", role: "viewer" });
    const { id, token } = JSON.parse(made.text) as { id: string; token: string };
    expectTaken("a token", await ask({ url: this.#server.url, token }, "GET", `${api}/dashboards`));
    await this.#ask("DELETE", `/tokens/${id}`);
  }

  async #useSession(): Promise<void> {
    const { url, token } = this.#server;
    const answer = await fetch(`${url}${api}/session`, {
      method: "POST",
      headers: jsonType,
      body: JSON.stringify({ token }),
    });
    if (answer.status >= 300) throw new Error(`${answer.status} ${await answer.text()}`);
    const cookie = answer.headers.getSetCookie()[0]!.split(";")[0]!;
    await answer.text();
    // Of one token five sign-ins a second are taken.
    await sleep(300);
    const headers = { Cookie: cookie, Origin: url };
    const ended = await fetch(`${url}${api}/session`, { method: "DELETE", headers });
    if (ended.status >= 300) throw new Error(`${ended.status} ${await ended.text()}`);
    await ended.text();
  }

  async #useDashboard(): Promise<void> {
    const id = `day-${this.#next++}`;
    const value = { ...dashboard, metadata: { ...dashboard.metadata, id } };
    await this.#ask("POST", "/dashboards/update", { dashboard: value });
    await this.#ask("GET", `/dashboards/${id}`);
    await this.#ask("DELETE", `/dashboards/${id}`);
  }

  async #useSilence(): Promise<void> {
    const silence = { endsAt: Math.floor(this.#nowMs()) + minuteMs, alertIds: ["none"] };
    const id = await this.#create("/silences", { silence });
    await this.#ask("DELETE", `/silences/${id}`);
    await this.#ask("DELETE", `/webhooks/${await this.#createHook()}`);
  }

  /** Reads a backup to its end, or leaves it on the way. */
  async #takeBackup(): Promise<void> {
    const { url, token } = this.#server;
    const answer = await fetch(`${url}${api}/backup`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
    });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    const pieces = this.#random.oneIn(2) ? Number.POSITIVE_INFINITY : this.#random.between(0, 20);
    const reader = answer.body!.getReader();
    for (let i = 0; i < pieces && !(await reader.read()).done; i++);
    await reader.cancel();
    await sleep(500);
  }

  #createHook(): Promise<string> {
    return this.#create("/webhooks", { webhook: { url: this.#hookUrl, displayName: "day" } });
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)]!;
  }

  async #create(path: string, value: object): Promise<string> {
    return (JSON.parse((await this.#ask("POST", path, value)).text) as { id: string }).id;
  }

  async #ask(method: string, path: string, value?: object): Promise<Answer> {
    return expectTaken(`${method} ${path}`, await ask(this.#server, method, api + path, value));
  }
}

/** Rejects after the time in which a step must have ended. */
async function failLate(): Promise<never> {
  await sleep(stepMsMax, undefined, { ref: false });
  throw new Error(`it takes longer than ${stepMsMax / 1000} s`);
}

function expectTaken(what: string, answer: Answer): Answer {
  if (answer.status >= 300) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer;
}

function alertOf(uuid: string, threshold: number, id?: string): object {
  const [rule] = alert.timeseries.evaluationRules;
  const expression = { svcQLTimeseries: { query: 'count(logs{batch!=""})', bucketSize: 60 } };
  const operators = [{ operator: "greaterThan", threshold }];
  const persistenceSettings = {
    datapointsToAlarm: 1,
    datapointsInEvaluationWindow: 5,
    missingDatapointBehavior: "ignore",
  };
  const actions = [{ type: "webhook", webhookDestination: { uuid, notifyOnResolve: true } }];
  const evaluationRules = [{ ...rule, static: { operators, persistenceSettings }, actions }];
  return {
    metadata: { name: "day", description: "", ...(id === undefined ? {} : { id }) },
    type: "timeseries",
    timeseries: { expression, evaluationRules },
  };
}
