/** For tests of commands: each has a server of its own, all of a file a folder to run in. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type Running, startServer } from "../running.ts";
import { runSvc } from "./program.ts";

export let server: Running;
export let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-command-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.stop());

export const svc = (...words: string[]) =>
  runSvc([...words, "--url", server.url, "--data", server.dir], { cwd: dir });
/** Writes a file of the folder; returns its name. */
export const write = (name: string, bytes: string | Uint8Array) => {
  writeFileSync(join(dir, name), bytes);
  return name;
};
/** Rows that the server holds. */
export const countStored = () => server.service.store.stats().rows;
export const start = Date.UTC(2026, 0, 29, 8, 42);
export const rows = (number: number, first = 0) =>
  Array.from({ length: number }, (_, i) => ({
    timestamp: start + first + i,
    log_level: "info",
    message: `row ${first + i}`,
  }));
