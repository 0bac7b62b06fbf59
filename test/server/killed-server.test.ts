/**
 * A server that is killed while every protocol sends, alerts, dashboards and tokens change and backups are taken. What was
 * acknowledged is there, and what is sent again is there once. Syslog acknowledges nothing: of each connection the
 * messages up to some number are there, each once, and those that a query has found. A backup that ended is whole.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { Random } from "../../fixtures/random.ts";
import { isSoak, report, seed } from "../durability/campaign.ts";
import { Backups } from "./campaign/backups.ts";
import {
  countRows,
  findRowFaults,
  makeBody,
  protocols,
  rowsPerBody,
  type SentBody,
  sendBody,
} from "./campaign/bodies.ts";
import { Configuration } from "./campaign/configuration.ts";
import { countsOf, type ServerProcess, serve, stop } from "./campaign/server-process.ts";
import { findFreePort } from "./free-port.ts";
import { sendSyslog } from "./ingest/syslog-sender.ts";

const kills = isSoak ? 20 : 2;
const senders = 8;
const folder = mkdtempSync(join(tmpdir(), "svc-killed-"));
const dir = join(folder, "data");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Round {
  isOver: () => boolean;
  onAcknowledged: () => void;
}

/** Sends from the list, and then new bodies, until it is over; notes which were acknowledged. */
async function sendAll(
  server: ServerProcess,
  again: SentBody[],
  all: SentBody[],
  { isOver, onAcknowledged }: Round,
) {
  const sendOn = async (): Promise<void> => {
    while (!isOver()) {
      const body = again.shift() ?? makeBody(all.length);
      if (!all.includes(body)) all.push(body);
      try {
        const { status, text } = await sendBody(server, body);
        if (!isOver()) expect(status, text).toBeLessThan(300);
        body.isAcknowledged = status < 300;
        onAcknowledged();
      } catch (error) {
        if (!isOver()) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: senders }, sendOn));
}

async function sendAgain(server: ServerProcess, all: readonly SentBody[]): Promise<void> {
  const remaining = [...all];
  const sendOn = async () => {
    for (let body = remaining.pop(); body !== undefined; body = remaining.pop()) {
      const { status, text } = await sendBody(server, body);
      expect(status, text).toBeLessThan(300);
    }
  };
  await Promise.all(Array.from({ length: senders }, sendOn));
}

const ofSyslog = 'logs{service.name=~"syslog-.*"}';
const countOfSyslog = `count(${ofSyslog}) by (service.name)`;

/** Asks for the messages of syslog, and notes how many were found. */
async function watchSyslog(server: ServerProcess, seen: Map<string, number>, isOver: () => boolean) {
  while (!isOver()) {
    try {
      for (const [service, count] of await countsOf(server, countOfSyslog)) seen.set(service, count);
    } catch (error) {
      if (!isOver()) throw error;
    }
  }
}

/** What is wrong with the messages of a connection: a hole, one that stands twice, one that was found and is gone. */
async function syslogFaults(server: ServerProcess, seen: ReadonlyMap<string, number>): Promise<string[]> {
  const counts = await countsOf(server, countOfSyslog);
  const distinct = await countsOf(server, `count_distinct(syslog.msgid, ${ofSyslog}) by (service.name)`);
  const last = await countsOf(server, `max(syslog.msgid, ${ofSyslog}) by (service.name)`);
  const services = [...new Set([...counts.keys(), ...seen.keys()])];
  return services.flatMap((service) => {
    const count = counts.get(service) ?? 0;
    const isWhole = distinct.get(service) === count && last.get(service) === count - 1;
    if (isWhole && count >= (seen.get(service) ?? 0)) return [];
    return [`${service}: ${count}, to ${last.get(service)}, found before: ${seen.get(service)}`];
  });
}

test(`killed ${kills} times (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const all: SentBody[] = [];
  const seen = new Map<string, number>();
  const configuration = new Configuration();
  const backups = new Backups(join(folder, "backups"));
  const syslogPort = await findFreePort();
  const flags = ["--syslog", `127.0.0.1:${syslogPort}`];
  const lost: string[] = [];
  for (let round = 0; round < kills; round++) {
    const server = await serve(dir, { flags });
    lost.push(...(await configuration.findFaults(server)));
    const waitMs = random.between(300, 1_500);
    let isKilled = false;
    let isTimed = false;
    const isOver = () => isKilled;
    const kill = async () => {
      await sleep(waitMs);
      // The first server lives until a backup of it has ended.
      while (backups.ended.length === 0) await sleep(10);
      isKilled = true;
      server.svc.child.kill("SIGKILL");
    };
    // Counted from the first acknowledgement, which a busy machine gives late.
    const onAcknowledged = () => {
      if (!isTimed) void kill();
      isTimed = true;
    };
    const again = all.filter(({ isAcknowledged }) => !isAcknowledged);
    await Promise.all([
      sendAll(server, again, all, { isOver, onAcknowledged }),
      configuration.changeAll(server, isOver),
      backups.takeAll(server, { all, configuration, isOver }),
      sendSyslog(syslogPort, `syslog-${round}`, isOver),
      watchSyslog(server, seen, isOver),
    ]);
    await server.svc.ended;
  }
  const acknowledged = all.filter(({ isAcknowledged }) => isAcknowledged).length;
  expect(acknowledged).toBeGreaterThan(kills * protocols);
  const server = await serve(dir, { flags });
  expect(seen.size).toBeGreaterThan(0);
  lost.push(...(await syslogFaults(server, seen)));
  lost.push(...(await configuration.findFaults(server)));
  lost.push(...findRowFaults(all, await countRows(server)));
  await sendAgain(server, all);
  const after = await countRows(server);
  expect(after.size).toBe(all.length);
  expect([...after].filter(([, count]) => count !== rowsPerBody)).toEqual([]);
  await stop(server);
  lost.push(...(await backups.findFaults()));
  const tried = acknowledged + configuration.changes + backups.ended.length;
  report(
    `${kills} kills (SVC_SEED=${seed}): tried ${tried} (${acknowledged} bodies, ${configuration.changes} changes, ` +
      `${backups.ended.length} backups), survived ${tried - lost.length}, lost ${lost.length}`,
  );
  expect(lost).toEqual([]);
});
