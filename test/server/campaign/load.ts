/** Everything that a server is sent at once: bodies of all protocols, changes of the configuration, syslog, searches. */
import { setTimeout as sleep } from "node:timers/promises";
import { countRows, findRowFaults, makeBody, type SentBody, sendBody } from "./bodies.ts";
import { Configuration } from "./configuration.ts";
import { type Answer, ask, type ServerProcess } from "./server-process.ts";

/** What a server says when it cannot take anything: a status and a reason. */
const refusals: readonly number[] = [503, 507];
const reasonCharactersMin = 20;

const waitMsMax = 45_000;

export class Load {
  readonly bodies: SentBody[] = [];
  readonly configuration = new Configuration();
  /** Requests that were refused as they must be. */
  refused = 0;
  /** What must not happen, in sentences. */
  readonly problems: string[] = [];
  #changes = 0;

  /** Sends one body of the next protocol. Returns whether it was acknowledged. */
  async sendOne(server: ServerProcess): Promise<boolean> {
    const body = makeBody(this.bodies.length);
    this.bodies.push(body);
    body.isAcknowledged = this.#note(body.path, await sendBody(server, body));
    return body.isAcknowledged;
  }

  /** Makes one change of the next kind. Returns whether it was acknowledged. */
  async changeOne(server: ServerProcess): Promise<boolean> {
    const i = this.#changes++;
    const kind = (["alert", "dashboard", "token"] as const)[i % 3]!;
    return this.#note(kind, await this.configuration.changeOne(server, kind, Math.floor(i / 3)));
  }

  /** Sends bodies of all protocols and makes changes, several at once. */
  async sendSome(server: ServerProcess, times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const bodies = Array.from({ length: 8 }, () => this.sendOne(server));
      await Promise.all([...bodies, this.changeOne(server), this.probe(server)]);
    }
  }

  /** The process lives, and a search is answered, or refused with a reason. */
  async probe(server: ServerProcess): Promise<void> {
    const health = await ask(server, "GET", "/health");
    if (health.status !== 200) this.problems.push(`/health: ${health.status} ${health.text}`);
    this.#note("/ready", await ask(server, "GET", "/ready"), 5);
    const now = Date.now();
    const query = { query: "logs", startTime: now - 3_600_000, endTime: now, limit: 10 };
    const found = await ask(server, "POST", "/api/v1/query/logs", query);
    this.#note("a search", found);
    if (found.status >= 300) this.searchesRefused++;
  }

  searchesRefused = 0;

  /** Waits until the server is ready, rows and changes are taken again. */
  async waitUntilTaken(server: ServerProcess): Promise<void> {
    const untilMs = Date.now() + waitMsMax;
    for (;;) {
      const isTaken = (await this.sendOne(server)) && (await this.changeOne(server));
      if (isTaken && (await ask(server, "GET", "/ready")).status === 200) return;
      if (Date.now() > untilMs) {
        this.problems.push("nothing is taken although all is well again");
        return;
      }
      await sleep(200);
    }
  }

  /** What was acknowledged and is not there. */
  async findLost(server: ServerProcess): Promise<string[]> {
    return [
      ...findRowFaults(this.bodies, await countRows(server)),
      ...(await this.configuration.findFaults(server)),
    ];
  }

  get acknowledged(): number {
    return this.bodies.filter(({ isAcknowledged }) => isAcknowledged).length + this.configuration.changes;
  }

  #note(what: string, { status, text }: Answer, charactersMin = reasonCharactersMin): boolean {
    if (status < 300) return true;
    if (refusals.includes(status) && text.length >= charactersMin) this.refused++;
    else this.problems.push(`${what}: ${status} ${text}`);
    return false;
  }
}

/** What is wrong with what a server logged: an error that nobody expected. LMDB's library prints what it meets itself. */
export function findLogProblems(err: string): string[] {
  return /request \w+ failed|^svc: .*\n {4}at /m.test(err) ? [`a stack trace: ${err.slice(0, 3_000)}`] : [];
}
