/** Commands whose output nobody takes any more: what reads ends quietly, what works and what serves goes on. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lines } from "../running.ts";
import { countStored, dir, rows, server, svc, write } from "./command-setting.ts";
import { type Options, type Started, startSvc } from "./program.ts";

/** Both streams are pipes. The reader of one of them has ended before anything is printed. */
function startUnread(stream: "stdout" | "stderr", words: readonly string[], options: Options = {}): Started {
  const started = startSvc(words, { cwd: dir, ...options });
  started.child[stream].destroy();
  return started;
}

const ownFolder = (name: string) => ["--data", join(dir, name), "--listen", "127.0.0.1:0"];
/** A full disk for one stream. */
const full = (stream: 1 | 2) => ["sh", "-c", `exec "$0" "$@" ${stream}>/dev/full`];
const canBeFull = existsSync("/dev/full");

describe("a reader that has closed the pipe", () => {
  const where = () => ["--url", server.url, "--data", server.dir];

  test("ends a search, which is no failure", async () => {
    await svc("ingest", write("found", lines(rows(5))));
    for (const words of [["query", "row", "--from", "2026-01-01", ...where()], ["help"]]) {
      const { code, err } = await startUnread("stdout", words).ended;
      expect([code, err]).toEqual([0, ""]);
    }
  });

  test("does not keep svc ingest from any file, nor from its exit code", async () => {
    const files = [0, 1, 2].map((i) => write(`piped${i}`, lines(rows(5, 5 * i))));
    expect((await startUnread("stdout", ["ingest", ...files, ...where()]).ended).code).toBe(0);
    expect(countStored()).toBe(15);
    const bad = [write("good", lines(rows(5, 15))), write("bad", `${lines(rows(5, 20))}oops\n`)];
    expect((await startUnread("stdout", ["ingest", ...bad, ...where()]).ended).code).toBe(1);
    expect(countStored()).toBe(25);
  });

  test("of messages leaves a server to serve and to stop in order", async () => {
    const started = startUnread("stderr", ["serve", ...ownFolder("unread")]);
    await started.printed("admin token:");
    started.child.kill("SIGTERM");
    const { code, out } = await started.ended;
    expect([code, out]).toEqual([0, expect.stringContaining("svc has stopped")]);
  });

  test("of its first lines leaves a server to stop in order", async () => {
    const started = startUnread("stdout", ["serve", ...ownFolder("unlisted")]);
    await until(() => existsSync(join(dir, "unlisted/admin-token")));
    started.child.kill("SIGTERM");
    expect((await started.ended).code).toBe(0);
  });
});

describe.skipIf(!canBeFull)("a full disk", () => {
  test("that does not take messages leaves a server to serve and to stop in order", async () => {
    const started = startSvc(["serve", ...ownFolder("full")], { cwd: dir, wrapper: full(2) });
    await started.printed("admin token:");
    started.child.kill("SIGTERM");
    const { code, out } = await started.ended;
    expect([code, out]).toEqual([0, expect.stringContaining("svc has stopped")]);
  });

  test("that does not take the output is a failure of a search and of work, which is done", async () => {
    const lost = "svc: the output was lost: ENOSPC: no space left on device, write\n";
    const words = ["--url", server.url, "--data", server.dir];
    const file = write("lost", lines(rows(5)));
    const ingested = await startSvc(["ingest", file, ...words], { cwd: dir, wrapper: full(1) }).ended;
    expect([ingested.code, ingested.err, countStored()]).toEqual([1, lost, 5]);
    const query = ["query", "row", "--from", "2026-01-01", ...words];
    const searched = await startSvc(query, { cwd: dir, wrapper: full(1) }).ended;
    expect([searched.code, searched.err]).toEqual([1, lost]);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}
