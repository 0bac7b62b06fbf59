/** A server in a process of its own whose event loop is watched. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { startSvc } from "../command/program.ts";

export interface WatchedServer {
  url: string;
  token: string;
  /** Runs work, and returns the longest turn of the server's event loop meanwhile, in CPU milliseconds. */
  longestTurnMs(work: () => Promise<unknown>): Promise<number>;
  call(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>;
  /** Stops the server by SIGTERM; returns how long that took in milliseconds. */
  stop(): Promise<number>;
}

export function newDataFolder(): { dir: string; remove: () => void } {
  const top = mkdtempSync(join(tmpdir(), "svc-load-"));
  return { dir: join(top, "data"), remove: () => rmSync(top, { recursive: true, force: true }) };
}

/**
 * The lines of `turn-watch.ts`, as soon as two of them are of later: the first may lack the turn that had just ended. A
 * server that has ended writes no more.
 */
async function readTurns(
  file: string,
  atMs: number,
  hasEnded: () => boolean,
): Promise<[atMs: number, longestMs: number][]> {
  for (;;) {
    const isLast = hasEnded();
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    const measured = lines.map((line) => line.split(" ").map(Number) as [number, number]);
    if (isLast || (measured.at(-2)?.[0] ?? 0) > atMs) return measured;
    await sleep(10);
  }
}

/** Resolves when the server answers. */
export async function startWatched(dir: string, flags: readonly string[] = []): Promise<WatchedServer> {
  const turns = join(dir, "..", `turns-${Date.now()}`);
  appendFileSync(turns, "");
  const watch = pathToFileURL(join(import.meta.dirname, "turn-watch.ts")).href;
  const started = startSvc(["serve", "--data", dir, "--listen", "127.0.0.1:0", ...flags], {
    env: { NODE_OPTIONS: `--import=${watch}`, TEST_TURNS_FILE: turns },
  });
  const out = await started.printed("http://");
  const url = /http:\/\/[\d.:]+/.exec(out)![0];
  const token = readFileSync(join(dir, "admin-token"), "utf8").trim();
  const hasEnded = () => started.child.exitCode !== null || started.child.signalCode !== null;
  const call: WatchedServer["call"] = async (method, path, body) => {
    const isText = typeof body === "string";
    const response = await fetch(url + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined
          ? {}
          : { "Content-Type": isText ? "application/x-ndjson" : "application/json" }),
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  return {
    url,
    token,
    call,
    longestTurnMs: async (work) => {
      // What was before the work is written by then.
      await readTurns(turns, Date.now(), hasEnded);
      const beganMs = Date.now();
      await work();
      const measured = await readTurns(turns, Date.now(), hasEnded);
      return Math.max(0, ...measured.filter(([atMs]) => atMs >= beganMs).map(([, ms]) => ms));
    },
    stop: async () => {
      const beganMs = performance.now();
      started.child.kill("SIGTERM");
      await started.ended;
      return performance.now() - beganMs;
    },
  };
}
