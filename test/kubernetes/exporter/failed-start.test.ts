/** Exporters that cannot do their work end with 1, so that Kubernetes starts them again. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ClusterAndHub } from "./cluster-and-hub.ts";

let both: ClusterAndHub;
const dir = mkdtempSync(join(tmpdir(), "svc-failed-start-"));
const other = createServer();
let busy: string;
const nodeFlags = (name: string) => {
  const [podsDir, data] = [join(dir, "pods"), join(dir, name)];
  mkdirSync(data);
  mkdirSync(join(podsDir, "default_cart_1", "cart"), { recursive: true });
  return ["--node", "--node-name", "node-1", "--pods-dir", podsDir, "--data", data];
};

beforeAll(async () => {
  both = await ClusterAndHub.start();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  busy = `127.0.0.1:${(other.address() as AddressInfo).port}`;
}, 60_000);
afterAll(async () => {
  other.close();
  await both.stop();
  rmSync(dir, { recursive: true });
});

/** A process that lives on must not outlive its test. */
function run(...flags: string[]) {
  const { child, ended } = both.spawnExporter(...flags);
  onTestFinished(() => void child.kill("SIGKILL"));
  return ended;
}

const inUse = expect.stringMatching(/^svc: listen EADDRINUSE.*\n$/);

test("an agent of a node that cannot keep its positions", async () => {
  const flags = nodeFlags("no-positions");
  writeFileSync(join(dir, "no-positions", "positions"), "where the folder should be");
  const { code, out, err } = await run(...flags);
  expect(out).toContain("tails the logs of node-1");
  expect([code, err]).toEqual([1, expect.stringMatching(/^svc: EEXIST.*positions'\n$/)]);
});

test("an agent of a node whose port is taken", async () => {
  const { code, err } = await run(...nodeFlags("node-port"), "--operations", busy);
  expect([code, err]).toEqual([1, inUse]);
});

test("an exporter whose port for OTLP is taken", async () => {
  const { code, err } = await run("--listen", busy);
  expect([code, err]).toEqual([1, inUse]);
});

test("an exporter whose port for health is taken", async () => {
  const flags = ["--listen", "127.0.0.1:0", "--operations", busy];
  const { code, err } = await run(...flags);
  expect([code, err]).toEqual([1, inUse]);
});
