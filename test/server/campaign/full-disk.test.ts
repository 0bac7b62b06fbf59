/**
 * A disk that becomes full under a server while all protocols send, alerts, dashboards and tokens change and backups are
 * taken: what was acknowledged is kept, refusals have a reason, searches go on, and with space again all goes on.
 */
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { report, scaled, seed } from "../../durability/campaign.ts";
import { findFreePort } from "../free-port.ts";
import { sendSyslog } from "../ingest/syslog-sender.ts";
import { Backups } from "./backups.ts";
import { campaignFolder } from "./folder.ts";
import { findLogProblems, Load } from "./load.ts";
import { findMountProblem, MountSpace } from "./mount-space.ts";
import { readToken, type ServerProcess, serve } from "./server-process.ts";

const folder = campaignFolder("full-disk");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const diskBytes = 32 * 2 ** 20;
const pageBytes = 4096;

/** Fills the disk up to this many free pages. */
function fillDisk(space: MountSpace, freePages: number): void {
  const { bavail, bsize } = statfsSync(space.pathOf("."));
  writeFileSync(
    space.pathOf("ballast"),
    Buffer.alloc(Math.max(bavail * bsize - freePages * pageBytes, 0), 1),
  );
}

const problem = findMountProblem();

test("a disk that is full and has space again", async ({ skip }) => {
  if (problem !== undefined) skip(problem);
  const random = new Random(seed);
  const space = await MountSpace.open(folder, diskBytes);
  const load = new Load();
  const backups = new Backups(join(folder, "backups"));
  const port = await findFreePort();
  const options = { wrapper: space.wrapper, flags: ["--syslog", `127.0.0.1:${port}`] };
  const open = async (): Promise<ServerProcess> => {
    const token = load.bodies.length === 0 ? {} : { token: readToken(space.pathOf("store")) };
    return serve(space.dir, { ...options, token: "", ...token });
  };
  let server = await open();
  server.token = readToken(space.pathOf("store"));
  const end = async () => {
    server.svc.child.kill("SIGTERM");
    const { code, err } = await server.svc.ended;
    if (code !== 0) load.problems.push(`it ended with ${code}: ${err.slice(-500)}`);
    load.problems.push(...findLogProblems(err));
  };
  const lost: string[] = [];
  const rounds = scaled(1, 40);
  for (let round = 0; round < rounds; round++) {
    await load.sendSome(server, 2);
    fillDisk(space, random.between(0, 40));
    let isFull = true;
    const syslog = sendSyslog(port, `syslog-${round}`, () => !isFull);
    const refusedBefore = load.refused;
    for (let i = 0; i < 200 && (i < 5 || load.refused === refusedBefore); i++) await load.sendSome(server, 1);
    await takeBackup(backups, server, load);
    lost.push(...(await load.findLost(server)));
    if (random.oneIn(3)) {
      await end();
      server = await open();
      lost.push(...(await load.findLost(server)));
      await load.sendSome(server, 1);
    }
    isFull = false;
    await syslog;
    rmSync(space.pathOf("ballast"));
    await load.waitUntilTaken(server);
    await takeBackup(backups, server, load);
    lost.push(...(await load.findLost(server)));
  }
  await end();
  server = await open();
  lost.push(...(await load.findLost(server)));
  await end();
  lost.push(...(await backups.findFaults()));
  await space.close();
  report(
    `${rounds} full disks (SVC_SEED=${seed}): tried ${load.acknowledged + backups.ended.length}, ` +
      `survived ${load.acknowledged + backups.ended.length - lost.length}, lost ${lost.length} ` +
      `(${load.refused} refused, ${backups.ended.length} backups)`,
  );
  expect(load.refused).toBeGreaterThan(0);
  expect(load.searchesRefused).toBe(0);
  expect([...lost, ...load.problems]).toEqual([]);
});

/** A backup may be refused while nothing can be written, with a reason. */
async function takeBackup(backups: Backups, server: ServerProcess, load: Load): Promise<void> {
  try {
    await backups.take(server, { all: load.bodies, configuration: load.configuration });
  } catch (error) {
    if (!/backup: 50[37] .{20}/.test(String(error))) load.problems.push(String(error));
  }
}
