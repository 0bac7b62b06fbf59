/**
 * A data folder that is mounted read-only, made unreadable or taken away under a server: it refuses with a reason, is
 * not ready, does not crash, and goes on once the folder is back. A start on such a folder is refused in a sentence.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { report, scaled, seed } from "../../durability/campaign.ts";
import { campaignFolder } from "./folder.ts";
import { findLogProblems, Load } from "./load.ts";
import { findMountProblem, MountSpace, makeImage } from "./mount-space.ts";
import { ask, readToken, type ServerProcess, serve } from "./server-process.ts";

const folder = campaignFolder("lost-folder");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Trouble {
  name: string;
  begin(space: MountSpace): void;
  end(space: MountSpace): void;
  /** The server must refuse rows meanwhile; else it may, where it needs a file that it has not open. */
  mustRefuse: boolean;
  /** A start must be refused meanwhile. */
  mustNotStart: boolean;
}

const attach = (space: MountSpace) => space.attach("rw");
const unreadable = (name: string, mustRefuse: boolean): Trouble => ({
  name: `${name} is unreadable`,
  begin: (space) => space.chmod(name, "000"),
  end: (space) => space.chmod(name, "700"),
  mustRefuse,
  mustNotStart: true,
});

const troubles: readonly Trouble[] = [
  {
    name: "read-only",
    begin: (space) => space.attach("ro"),
    end: attach,
    mustRefuse: false,
    mustNotStart: true,
  },
  // A start makes a new store in the folder that the file system was mounted on.
  { name: "detached", begin: (space) => space.detach(), end: attach, mustRefuse: true, mustNotStart: false },
  unreadable(".", true),
  unreadable("journal", false),
  unreadable("control", false),
];

const problem = findMountProblem();

test("a data folder that cannot be used for a while", async ({ skip }) => {
  if (problem !== undefined) skip(problem);
  const random = new Random(seed);
  const space = await MountSpace.open(folder, 256 * 2 ** 20);
  const load = new Load();
  const options = { wrapper: space.wrapper, token: "" };
  let server = await serve(space.dir, options);
  const token = readToken(space.pathOf("store"));
  server.token = token;
  const lost: string[] = [];
  let tried = 0;
  for (let round = 0; round < scaled(1, 12); round++) {
    for (const trouble of troubles) {
      tried++;
      await load.sendSome(server, random.between(1, 3));
      trouble.begin(space);
      await load.sendSome(server, random.between(1, 3));
      await checkRefusal(server, trouble, load);
      trouble.end(space);
      await load.waitUntilTaken(server);
      lost.push(...(await load.findLost(server)).map((fault) => `${trouble.name}: ${fault}`));
      for (const text of load.problems.splice(0)) lost.push(`${trouble.name}: ${text}`);
    }
    const trouble = troubles[round % troubles.length]!;
    lost.push(...(await end(server)));
    if (trouble.mustNotStart) lost.push(...(await refusedStart(space, trouble)));
    server = await serve(space.dir, { ...options, token });
    lost.push(...(await load.findLost(server)).map((fault) => `after a restart: ${fault}`));
  }
  lost.push(...(await end(server)));
  await space.close();
  report(
    `folders lost and back (SVC_SEED=${seed}): tried ${tried}, survived ${tried - Math.min(lost.length, tried)}, ` +
      `lost ${lost.length} (${load.acknowledged} acknowledged, ${load.refused} refused)`,
  );
  expect(lost).toEqual([]);
});

test("a file system that an error turns read-only", async ({ skip }) => {
  const image = join(folder, "image");
  const imageProblem = makeImage(image, 128);
  if (imageProblem !== undefined) skip(imageProblem);
  const dir = join(folder, "ext4");
  mkdirSync(dir);
  const load = new Load();
  const lost: string[] = [];
  const rounds = scaled(1, 10);
  for (let round = 0; round < rounds; round++) {
    const space = await MountSpace.openImage(dir, image);
    const server = await serve(space.dir, { wrapper: space.wrapper, token: "" });
    server.token = readToken(space.pathOf("store"));
    lost.push(...(await load.findLost(server)));
    await load.sendSome(server, 3);
    space.breakImage();
    await load.sendSome(server, 2);
    await checkRefusal(server, { mustRefuse: true }, load);
    lost.push(...(await load.findLost(server)));
    // It cannot write down that it stopped: its exit code says so.
    server.svc.child.kill("SIGTERM");
    const { code, err } = await server.svc.ended;
    if (code !== 0 && code !== 1) lost.push(`it ended with ${code}`);
    lost.push(...findLogProblems(err));
    await space.close();
  }
  const space = await MountSpace.openImage(dir, image);
  const server = await serve(space.dir, { wrapper: space.wrapper, token: readToken(space.pathOf("store")) });
  lost.push(...(await load.findLost(server)));
  await load.waitUntilTaken(server);
  lost.push(...(await end(server)), ...load.problems);
  await space.close();
  report(
    `file systems turned read-only (SVC_SEED=${seed}): tried ${load.acknowledged}, ` +
      `survived ${load.acknowledged - Math.min(lost.length, load.acknowledged)}, lost ${lost.length} (${load.refused} refused)`,
  );
  expect(lost).toEqual([]);
});

async function checkRefusal(
  server: ServerProcess,
  trouble: Pick<Trouble, "mustRefuse">,
  load: Load,
): Promise<void> {
  const isTaken = await load.sendOne(server);
  const { status, text } = await ask(server, "GET", "/ready");
  if (trouble.mustRefuse && isTaken) load.problems.push("rows are taken");
  if ((trouble.mustRefuse || !isTaken) && status !== 503) load.problems.push(`/ready: ${status} ${text}`);
}

async function end(server: ServerProcess): Promise<string[]> {
  server.svc.child.kill("SIGTERM");
  const { code, err } = await server.svc.ended;
  return [...(code === 0 ? [] : [`it ended with ${code}: ${err.slice(-500)}`]), ...findLogProblems(err)];
}

/** A start in trouble ends with exit code 1 and one sentence. */
async function refusedStart(space: MountSpace, trouble: Trouble): Promise<string[]> {
  trouble.begin(space);
  try {
    const server = await serve(space.dir, { wrapper: space.wrapper, token: "" });
    await end(server);
    return [`${trouble.name}: it starts`];
  } catch (error) {
    const isSentence = /ended with 1: /.test(String(error)) && !/^ {4}at /m.test(String(error));
    return isSentence ? [] : [`${trouble.name}: the start: ${String(error)}`];
  } finally {
    trouble.end(space);
  }
}
