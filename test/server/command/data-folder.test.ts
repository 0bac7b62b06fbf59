/** Commands find the server of the folder they name, send its token to no other, and the folder is its owner's alone. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runSvc, type Started, startSvc } from "./program.ts";

const base = mkdtempSync(join(tmpdir(), "svc-folder-"));
const started: Started[] = [];
afterAll(async () => {
  for (const { child } of started) child.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(base, { recursive: true, force: true });
});

async function serve(name: string, port = 0): Promise<{ data: string; url: string; program: Started }> {
  const data = join(base, name);
  const program = startSvc(["serve", "--data", data, "--listen", `127.0.0.1:${port}`, "--scan-threads", "1"]);
  started.push(program);
  const [, url] = /listens on (\S+)/.exec(await program.printed("admin token:"))!;
  return { data, url: url!, program };
}

function ingest(data: string, message: string, flags: string[] = []) {
  const input = `${JSON.stringify({ timestamp: Date.now(), message })}\n`;
  return runSvc(["ingest", "--data", data, ...flags, "-"], { input });
}

/** An HTTP server that is not svc: answers everything with 200 and remembers what it was sent. */
async function impersonate(port: number): Promise<{ server: Server; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ proof: "0".repeat(64), tokens: [] }));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { server, requests };
}

test("two servers on one machine: each command reaches the one whose folder it names", async () => {
  const [one, two] = [await serve("one"), await serve("two")];
  for (const [{ data }, message] of [
    [one, "row of one"],
    [two, "row of two"],
  ] as const) {
    expect(await ingest(data, message)).toMatchObject({ code: 0 });
  }
  expect((await runSvc(["query", "--data", one.data, "{}"])).out).toContain("row of one");
  const queried = await runSvc(["query", "--data", two.data, "{}"]);
  expect(queried.out).toContain("row of two");
  expect(queried.out).not.toContain("row of one");
  const wrong = await ingest(two.data, "not stored", ["--url", one.url]);
  expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/token/) });
});

describe("the address of a server that is gone", () => {
  test("is removed by a stop in good order", async () => {
    const { data, program } = await serve("stopped");
    expect(readdirSync(data)).toContain("server");
    program.child.kill("SIGTERM");
    await program.ended;
    expect(readdirSync(data)).not.toContain("server");
  });

  test("gives no token to another process that listens there after kill -9", async () => {
    const { data, url, program } = await serve("killed");
    const token = readFileSync(join(data, "admin-token"), "utf8").trim();
    program.child.kill("SIGKILL");
    await program.ended;
    const { server, requests } = await impersonate(Number(new URL(url).port));
    await runSvc(["token", "list", "--data", data]);
    await runSvc(["token", "list", "--data", data, "--url", url]);
    expect(requests.length).toBeGreaterThanOrEqual(2);
    const sent = requests.map((request) => JSON.stringify([request.url, request.headers]));
    expect(sent.join("\n")).not.toContain(token);
    server.close();
  });

  test("nor does a server elsewhere get one that answers for it", async () => {
    const { data } = await serve("relayed");
    const { server, requests } = await impersonate(0);
    await runSvc([
      "token",
      "list",
      "--data",
      data,
      "--url",
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ]);
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    server.close();
  });
});

test("the data folder and all that is in it are readable by their owner alone", async () => {
  const { data, program } = await serve("private");
  expect(await ingest(data, "secret")).toMatchObject({ code: 0 });
  program.child.kill("SIGTERM");
  await program.ended;
  expect(
    (
      await runSvc(["ingest", "--direct", "--data", data, "-"], {
        input: '{"timestamp":1760000000000,"message":"m"}\n',
      })
    ).code,
  ).toBe(0);
  const paths = [
    data,
    ...readdirSync(data, { recursive: true, encoding: "utf8" }).map((name) => join(data, name)),
  ];
  const open = paths.filter((path) => (statSync(path).mode & 0o077) !== 0);
  expect(open).toEqual([]);
  expect(paths.length).toBeGreaterThan(8);
});
