/**
 * Changes of alerts, dashboards and tokens, and what must hold of them: each is as its last acknowledged change left it.
 * A change without an answer may have been made or not; one that was refused was not made.
 */
import { alert, dashboard } from "../control/samples.ts";
import { type Answer, ask, type ServerProcess } from "./server-process.ts";

/** What a resource may be: a number that all its changes count up, or null where it was deleted. */
type Value = number | null;

interface Resource {
  kind: "alert" | "dashboard" | "token";
  id: string;
  /** Of a token: what is sent to use it. */
  secret: string;
  acknowledged: Value;
  /** Changes since then that nobody answered, oldest first; each may have been made. */
  unanswered: Value[];
}

/** Every so many changes of a resource one deletes it. A token stays deleted. */
const deletedEvery = 7;

export class Configuration {
  /** Changes that were acknowledged. */
  changes = 0;
  readonly resources: Resource[];
  #next = 1;

  constructor() {
    this.resources = ["alert", "dashboard"].flatMap((kind) => {
      return Array.from({ length: 3 }, (_, i) => makeResource(kind as Resource["kind"], `${kind}-${i}`));
    });
  }

  /** Changes one resource after the other until it is over. Throws where a change is neither made nor over. */
  async changeAll(server: ServerProcess, isOver: () => boolean, onChanged: () => void = () => undefined) {
    const change = async (kind: Resource["kind"]): Promise<void> => {
      for (let i = 0; !isOver(); i++) {
        const answer = await this.#tryChange(server, kind, i, isOver);
        if (answer === undefined) return;
        if (answer.status >= 300 && !isOver()) throw new Error(`${kind}: ${answer.status} ${answer.text}`);
        onChanged();
      }
    };
    await Promise.all([change("alert"), change("dashboard"), change("token")]);
  }

  async #tryChange(server: ServerProcess, kind: Resource["kind"], i: number, isOver: () => boolean) {
    try {
      return await this.changeOne(server, kind, i);
    } catch (error) {
      if (isOver()) return undefined;
      throw error;
    }
  }

  /** Makes one change: the `i`-th of its kind. */
  async changeOne(server: ServerProcess, kind: Resource["kind"], i: number): Promise<Answer> {
    const value = this.#next++;
    const known = this.resources.filter(
      (each) => each.kind === kind && (kind !== "token" || each.acknowledged !== null),
    );
    if (kind === "token" && (known.length < 3 || i % 5 === 0)) return this.#createToken(server, value);
    const resource = known[i % known.length]!;
    const isDeleted = resource.acknowledged !== null && value % deletedEvery === 0;
    return this.#commit(resource, isDeleted ? null : value, () => {
      if (isDeleted) return ask(server, "DELETE", pathOf(resource));
      if (kind === "token") return ask(server, "PUT", pathOf(resource), tokenOf(value));
      return ask(server, "POST", `/api/v1/${kind}s/update`, { [kind]: bodyOf(resource, value) });
    });
  }

  async #createToken(server: ServerProcess, value: number): Promise<Answer> {
    const answer = await ask(server, "POST", "/api/v1/tokens", { role: "viewer", ...tokenOf(value) });
    if (answer.status >= 300) return answer;
    const { id, token } = JSON.parse(answer.text) as { id: string; token: string };
    this.resources.push({ ...makeResource("token", id), secret: token, acknowledged: value });
    this.changes++;
    return answer;
  }

  async #commit(resource: Resource, value: Value, work: () => Promise<Answer>): Promise<Answer> {
    resource.unanswered.push(value);
    const answer = await work();
    resource.unanswered.pop();
    if (answer.status >= 300) return answer;
    resource.acknowledged = value;
    resource.unanswered = [];
    this.changes++;
    return answer;
  }

  /** What is not as it must be, in sentences. What is found becomes what must be found from now on. */
  async findFaults(server: ServerProcess): Promise<string[]> {
    const faults: string[] = [];
    for (const resource of this.resources) {
      const found = await readValue(server, resource);
      const allowed = [resource.acknowledged, ...resource.unanswered];
      if (!allowed.includes(found as Value)) {
        faults.push(`${resource.kind} ${resource.id}: ${found}, acknowledged was ${resource.acknowledged}`);
        continue;
      }
      resource.acknowledged = found as Value;
      resource.unanswered = [];
    }
    return faults;
  }

  /** A configuration that must be found as this one is now, and can go on by itself. */
  copy(): Configuration {
    const copy = new Configuration();
    copy.resources.splice(0, Infinity, ...this.snapshot());
    copy.#next = this.#next;
    return copy;
  }

  /** The resources as they are now, to compare a backup of this moment with. */
  snapshot(): Resource[] {
    return this.resources.map((resource) => ({ ...resource, unanswered: [...resource.unanswered] }));
  }
}

/** The value of a resource on a server; a sentence where it is not one that was sent. */
export async function readValue(server: ServerProcess, resource: Resource): Promise<Value | string> {
  const { status, text } = await ask(server, "GET", pathOf(resource));
  if (resource.kind === "token" && (await isTokenTaken(server, resource)) !== (status === 200))
    return `its secret is taken or not, while the resource is answered with ${status}`;
  if (status === 404) return null;
  if (status !== 200) return `${status} ${text}`;
  const found = JSON.parse(text) as Record<string, unknown>;
  if (resource.kind === "token") return numberIn(found.name);
  const sent = found[resource.kind] as { metadata: { name?: unknown; title?: unknown } };
  const value = numberIn(sent.metadata.name ?? sent.metadata.title);
  const isWhole = JSON.stringify(sent) === JSON.stringify(bodyOf(resource, value));
  return isWhole ? value : `not as it was sent: ${JSON.stringify(sent)}`;
}

async function isTokenTaken({ url }: ServerProcess, { secret }: Resource): Promise<boolean> {
  return (await ask({ url, token: secret }, "GET", "/api/v1/dashboards")).status === 200;
}

function makeResource(kind: Resource["kind"], id: string): Resource {
  return { kind, id, secret: "", acknowledged: null, unanswered: [] };
}

function pathOf({ kind, id }: Resource): string {
  return `/api/v1/${kind}s/${encodeURIComponent(id)}`;
}

function bodyOf({ kind, id }: Resource, value: number): object {
  const name = `change ${value}`;
  if (kind === "dashboard") return { ...dashboard, metadata: { ...dashboard.metadata, id, title: name } };
  return { ...alert, metadata: { ...alert.metadata, id, name } };
}

function tokenOf(value: number): { name: string } {
  return { name: `change ${value}` };
}

function numberIn(name: unknown): number {
  return Number(/^change (\d+)$/.exec(String(name))?.[1]);
}
