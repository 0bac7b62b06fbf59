/**
 * Flipped bits, truncated and removed files of every kind in the data folder of a server, at rest and while it runs: it
 * neither crashes nor hangs, answers without internal errors, reports what is damaged, finds every row whose file is
 * intact, and takes new rows or says why not.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, verifyStore } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { copyFolder, report, scaled, seed } from "../../durability/campaign.ts";
import { inflictFault } from "../../durability/fault.ts";
import { StoredChunks } from "../../durability/rows/stored-chunks.ts";
import { countRows, makeBody, makeTextBody, type SentBody, sendBody, signalOf } from "./bodies.ts";
import { Configuration } from "./configuration.ts";
import { campaignFolder } from "./folder.ts";
import { findLogProblems } from "./load.ts";
import { ask, kill, readToken, type ServerProcess, serve } from "./server-process.ts";

/** Every kind of file of a data folder. */
const kinds: readonly RegExp[] = [
  /(?:logs|traces|metrics)\/.*data\.mdb$/,
  /logs\/.*data\.mdb$/,
  /control\/.*data\.mdb$/,
  /control\/.*data\.mdb$/,
  /\.log$/,
  /\.log$/,
  /manifest/,
  /journal\/segments/,
  /journal\/.*keys/,
  /\/(?:format|closed|admin-token|server|holder|lock)$/,
  /./,
];

interface Base {
  dir: string;
  bodies: readonly SentBody[];
  /** Bodies up to this index are in chunks, the others in the journal. */
  sealed: number;
  configuration: Configuration;
  token: string;
  chunks: StoredChunks;
}

const folder = campaignFolder("damaged");
/** One folder was shut down cleanly, the other is as a killed process leaves it. */
let bases: Base[];

beforeAll(async () => {
  bases = await buildBases();
});
/** Folders of failed cases are kept for inspection. */
let isKept = false;
afterAll(() => {
  if (!isKept) rmSync(folder, { recursive: true, force: true });
});

async function buildBases(): Promise<Base[]> {
  const dir = join(folder, "closed");
  const bodies = [
    makeTextBody(new Random(seed)),
    ...Array.from({ length: 64 }, (_, number) => makeBody(number)),
  ];
  const configuration = new Configuration();
  const sealed = 33;
  for (const part of [bodies.slice(0, sealed), bodies.slice(sealed)]) {
    const server = await serve(dir);
    for (const body of part) body.isAcknowledged = (await sendBody(server, body)).status < 300;
    for (let i = 0; i < 5; i++)
      for (const kind of ["alert", "dashboard", "token"] as const)
        await configuration.changeOne(server, kind, i);
    if (part[0] !== bodies[0]) copyFolder(dir, join(folder, "killed"));
    server.svc.child.kill("SIGTERM");
    await server.svc.ended;
    if (part[0] === bodies[0]) await sealAll(dir);
  }
  expect(bodies.every(({ isAcknowledged }) => isAcknowledged)).toBe(true);
  const token = readToken(dir);
  return ["closed", "killed"].map((name) => {
    const chunks = new StoredChunks(join(folder, name));
    expect(chunks.hasBlocks).toBe(true);
    return { dir: join(folder, name), bodies, sealed, configuration, token, chunks };
  });
}

async function sealAll(dir: string): Promise<void> {
  const store = await openStore({ dir, threads: 1 });
  await store.seal();
  await store.close();
}

/** What a damaged server said. */
interface Outcome {
  problems: string[];
  /** The metric or the log says that something is damaged. */
  isReported: boolean;
  rowsMissing: number;
}

/** Over all cases: how many servers reported damage, and in how many of them rows were lost with their file. */
const seen = { reported: 0, withLoss: 0, endedInCommit: 0 };

/** Bodies some of whose rows may be gone, if that is reported. `chunks`: those of the folder before the faults. */
function findLosable(
  base: Base,
  chunks: StoredChunks,
  dir: string,
  faults: readonly string[],
): Set<SentBody> {
  const touched = chunks.findTouchedFiles(dir);
  const hits = (pattern: RegExp) => faults.filter((fault) => pattern.test(fault)).length;
  const isJournalTouched = hits(/^journal\/[^:]*\.log/) > 0 || hits(/^journal\/segments/) > 1;
  return new Set(
    base.bodies.filter((body, i) => {
      const signal = `${signalOf(body)}/`;
      const isTouched = touched.some((file) => file.startsWith(signal));
      if (i < base.sealed) return isTouched;
      // A seal since the server's start takes all rows of the signal. It may be under way: the file has grown.
      if (chunks.countRows(signal) > base.chunks.countRows(signal)) return isTouched;
      const isSealing = chunks.countBytes(signal) > base.chunks.countBytes(signal);
      return isJournalTouched || (isSealing && hits(new RegExp(`^${signal}.*data\\.mdb`)) > 0);
    }),
  );
}

/**
 * Bodies whose rows a running server may leave out, if it reports it: those that may be lost, and those of a damaged
 * tree, which is repaired at the next start.
 */
function findHidden(
  { bodies }: Base,
  faults: readonly string[],
  losable: ReadonlySet<SentBody>,
): Set<SentBody> {
  const isHit = (folder: string) =>
    faults.some((fault) => fault.startsWith(folder) && fault.includes("data.mdb"));
  return new Set(bodies.filter((body) => losable.has(body) || isHit(`${signalOf(body)}/`)));
}

/** Asks a server on a damaged folder for everything. */
async function examine(
  base: Base,
  server: ServerProcess,
  faults: readonly string[],
  losable: ReadonlySet<SentBody>,
): Promise<Outcome> {
  const problems: string[] = [];
  const probe = async (path: string, allowed: readonly number[]) => {
    const { status, text } = await ask(server, "GET", path);
    if (!allowed.includes(status)) problems.push(`${path}: ${status} ${text}`);
    return text;
  };
  await probe("/health", [200]);
  await probe("/ready", [200, 503]);
  let counts = new Map<string, number>();
  try {
    counts = await countRows(server);
  } catch (error) {
    if (!/: (?:4\d\d|503) /.test(String(error))) problems.push(String(error));
  }
  let rowsMissing = 0;
  for (const body of base.bodies) {
    const count = counts.get(body.batch) ?? 0;
    rowsMissing += Math.max(body.rows - count, 0);
    if (count > body.rows) problems.push(`${body.batch} is doubled: ${count} rows`);
    if (count < body.rows && !losable.has(body))
      problems.push(`${body.path} ${body.batch}: ${count} of ${body.rows} rows`);
  }
  const changed = await findChanged(base, server);
  const isStateLost = faults.filter((fault) => fault.startsWith("control/")).length > 1;
  if (!isStateLost) problems.push(...changed);
  const metrics = await probe("/metrics", [200]);
  const isReported = Number(/^svc_store_damaged_places (\d+)/m.exec(metrics)?.[1]) > 0;
  return { problems, isReported, rowsMissing: rowsMissing + changed.length };
}

/** Resources that are not as they were; the base's configuration stays as it is for the next case. */
async function findChanged({ configuration }: Base, server: ServerProcess): Promise<string[]> {
  return (await configuration.copy().findFaults(server)).filter((fault) => !/: 503 /.test(fault));
}

/** New rows and changes are taken and found, or refused with a reason. */
async function checkTakesMore(server: ServerProcess, number: number): Promise<string[]> {
  const body = makeBody(number);
  const { status, text } = await sendBody(server, body);
  if (status < 300) {
    const found = (await countRows(server)).get(body.batch);
    return found === body.rows ? [] : [`of new rows ${found} are found`];
  }
  const problems = status === 503 && text.length > 20 ? [] : [`new rows: ${status} ${text}`];
  const changed = await ask(server, "POST", "/api/v1/tokens", { role: "viewer" });
  if (changed.status >= 300 && changed.status !== 503)
    problems.push(`a change: ${changed.status} ${changed.text}`);
  return problems;
}

const endMsMax = 30_000;

/** Ends the server in good order; returns what is wrong with that and with what it logged. */
async function end(server: ServerProcess, isRefusing: boolean): Promise<{ problems: string[]; err: string }> {
  server.svc.child.kill("SIGTERM");
  const timer = setTimeout(() => server.svc.child.kill("SIGKILL"), endMsMax);
  const { code, err } = await server.svc.ended;
  clearTimeout(timer);
  const problems =
    code === null
      ? [`it did not end, or crashed (${server.svc.child.signalCode}): ${err.slice(-1_000)}`]
      : [];
  if (code !== 0 && code !== null && !isRefusing) problems.push(`it ended with ${code}: ${err.slice(-500)}`);
  problems.push(...findLogProblems(err));
  return { problems, err };
}

/** Starts a server on the folder. A string is the sentence with which it refuses it. */
async function start(base: Base, dir: string): Promise<ServerProcess | string> {
  try {
    return await serve(dir, { token: base.token });
  } catch (error) {
    return String(error);
  }
}

const refusable = /^(?:format|lock)/;

async function examineAtRest(
  base: Base,
  dir: string,
  faults: readonly string[],
  number: number,
  losable = findLosable(base, base.chunks, dir, faults),
): Promise<string[]> {
  const isRefusable = faults.some((fault) => refusable.test(fault));
  let verified: string[] | undefined;
  try {
    verified = (await verifyStore(dir)).damage.map(({ where }) => where);
  } catch (error) {
    if (!isRefusable) return [`verify: ${String(error)}`];
  }
  const server = await start(base, dir);
  if (typeof server === "string") {
    const isSentence = /ended with 1: /.test(server) && !/^ {4}at /m.test(server);
    return isRefusable && isSentence ? [] : [`it does not start: ${server}`];
  }
  try {
    const { problems, isReported, rowsMissing } = await examine(base, server, faults, losable);
    problems.push(...(await checkTakesMore(server, number)));
    const { problems: ended, err } = await end(server, isRefusable);
    problems.push(...ended);
    if (isReported) seen.reported++;
    if (rowsMissing > 0) seen.withLoss++;
    if (rowsMissing > 0 && !isReported && !/damage/.test(err)) problems.push("silently missing");
    if ((rowsMissing > 0 || isReported) && verified?.length === 0) problems.push("verify found nothing");
    return problems;
  } catch (error) {
    return [await describeDeath(server, error)];
  } finally {
    await kill(server);
  }
}

/**
 * LMDB maps the file that it commits to, whose pages are checked before. Where it is cut short during the commit, the
 * kernel ends the process: pages after the end cannot be read, and the rest of the last page reads as zeros, which are
 * no addresses. Where a page is overwritten then, LMDB ends it.
 */
function isDamagedInCommit({ svc }: ServerProcess, faults: readonly string[], problem: string): boolean {
  const isFault = (what: RegExp) => faults.some((fault) => what.test(fault));
  if (["SIGBUS", "SIGSEGV"].includes(svc.child.signalCode ?? ""))
    return isFault(/data\.mdb: (?:emptied|cut)/);
  return isFault(/data\.mdb: /) && /SIGABRT: \S*mdb\.c:\d+: Assertion/.test(problem);
}

/** A request that got no answer, and what the server said last. */
async function describeDeath(server: ServerProcess, error: unknown): Promise<string> {
  await kill(server);
  const { code, err } = await server.svc.ended;
  const { signalCode } = server.svc.child;
  return `no answer (${String(error)}); it ended with ${code ?? signalCode}: ${err.slice(-1_000)}`;
}

async function examineRunning(
  base: Base,
  dir: string,
  random: Random,
  number: number,
): Promise<[string[], string[]]> {
  const server = await start(base, dir);
  if (typeof server === "string") return [[], [server]];
  let faults: string[] = [];
  let losable: Set<SentBody> | undefined;
  try {
    if (random.oneIn(2)) await countRows(server);
    const chunks = new StoredChunks(dir);
    faults = inflictFaults(random, dir);
    losable = findLosable(base, chunks, dir, faults);
    const { problems } = await examine(base, server, faults, findHidden(base, faults, losable));
    problems.push(...(await checkTakesMore(server, number)));
    problems.push(
      ...(
        await end(
          server,
          faults.some((fault) => /^(?:lock|holder)/.test(fault)),
        )
      ).problems,
    );
    if (problems.length === 0)
      problems.push(...(await examineAtRest(base, dir, faults, number + 1, losable)));
    return [faults, problems];
  } catch (error) {
    const problem = await describeDeath(server, error);
    if (!isDamagedInCommit(server, faults, problem)) return [faults, [problem]];
    seen.endedInCommit++;
    return [faults, await examineAtRest(base, dir, faults, number + 1, losable)];
  } finally {
    await kill(server);
  }
}

function inflictFaults(random: Random, dir: string): string[] {
  const count = random.oneIn(5) ? 2 : 1;
  return Array.from({ length: count }, () => inflictOne(random, dir));
}

/** Where a running server removes the file meanwhile, another one is taken. */
function inflictOne(random: Random, dir: string): string {
  try {
    return inflictFault(random, dir, kinds);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return inflictOne(random, dir);
  }
}

test("a server on a damaged folder", async () => {
  const cases = Number(process.env.SVC_CASES ?? scaled(2, 1_000));
  const failures: string[] = [];
  for (let i = Number(process.env.SVC_FIRST_CASE ?? 0); i < cases; i++) {
    // A generator for each case, so that one case can be repeated alone.
    const random = new Random(seed, i);
    const base = random.pick(bases);
    const dir = join(folder, `case-${i}`);
    copyFolder(base.dir, dir);
    let faults: string[] = [];
    let problems: string[];
    const number = 1_000 + i * 2;
    if (i % 2 === 0) {
      faults = inflictFaults(random, dir);
      problems = await examineAtRest(base, dir, faults, number);
    } else [faults, problems] = await examineRunning(base, dir, random, number);
    if (problems.length === 0) rmSync(dir, { recursive: true });
    else {
      failures.push(`case ${i}, ${dir} (${faults.join("; ")}): ${problems.join("\n  ")}`);
      report(failures.at(-1)!);
    }
    if (i % 50 === 49) report(`${i + 1} of ${cases} damaged folders, ${failures.length} failed`);
  }
  report(
    `damaged folders (SVC_SEED=${seed}): tried ${cases}, survived ${cases - failures.length}, lost ${failures.length} ` +
      `(${seen.reported} reported damage, ${seen.withLoss} had lost rows or changes with a file, ` +
      `${seen.endedInCommit} ended in a commit whose file was damaged meanwhile)`,
  );
  isKept = failures.length > 0;
  expect(seen.endedInCommit).toBeLessThanOrEqual(1 + cases / 50);
  expect(failures).toEqual([]);
});
