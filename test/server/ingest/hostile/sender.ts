/**
 * Sends hostile bodies of every protocol, in a process of its own: making them would hold up an honest sender in the
 * same process. Its argument is a `HostileOrder` as JSON; it sends a `HostileReport` to the process that started it.
 */
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "../../../../fixtures/random.ts";
import { call } from "../../running.ts";
import { type HostileBody, listHostileBodies, protocolNames } from "./bodies.ts";

export interface HostileOrder {
  url: string;
  token: string;
  seed: number;
  /** Bodies of each protocol, at least. */
  bodiesMin: number;
}

export interface HostileReport {
  statuses: [status: number, bodies: number][];
  /** The least number of bodies of a protocol. */
  bodiesMin: number;
  /** Answers that no body may have, with the body's name. */
  wrong: string[];
}

/** Statuses with which a body may be answered: never a fault of the server's. */
const answers = [200, 202, 204, 400, 413, 415, 429, 503];
/** Bytes of a body before it is packed. Large bodies take most of the time: in the long form most are small. */
const [small, large] = [3_000, 300_000];
const largeEvery = 50;
const senders = 4;

const { url, token, seed, bodiesMin } = JSON.parse(process.argv[2]!) as HostileOrder;
const random = new Random(seed);
const triedOf = new Map(protocolNames.map((name) => [name, 0]));
const statuses = new Map<number, number>();
const wrong: string[] = [];

// Senders are other machines: making bodies must not take the server's CPU.
setPriority(5);
for (let round = 0; protocolNames.some(isWanted); round++) {
  const bodies = [...listHostileBodies(random, round % largeEvery === 0 ? large : small, isWanted)];
  // Large bodies take seconds to make, and a server closes a connection that is idle: this process learns of it now, and
  // sends nothing over such a connection.
  await sleep(10);
  for (const { protocol } of bodies) triedOf.set(protocol, triedOf.get(protocol)! + 1);
  await Promise.all(Array.from({ length: senders }, () => sendAll(bodies)));
}
const report: HostileReport = {
  statuses: [...statuses],
  bodiesMin: Math.min(...triedOf.values()),
  wrong,
};
process.send!(report, () => process.exit(0));

function isWanted(protocol: string): boolean {
  return triedOf.get(protocol)! < bodiesMin;
}

async function sendAll(bodies: HostileBody[]): Promise<void> {
  for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
    const { status, text } = await call({ url }, body.path, { ...body, token });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (!answers.includes(status) || /\bat .*:\d+:\d+/.test(text))
      wrong.push(`${body.name}: ${status} ${text.slice(0, 300)}`);
  }
}
