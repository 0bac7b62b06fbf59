/** The commands of server/control/README.md work in their order, and its limits are those of the code. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import * as control from "../../../server/control/limits.ts";
import * as model from "../../../server/model/limits.ts";
import { startServer } from "../running.ts";
import { ask } from "./asking.ts";

const limits = { ...control, ...model };
const readme = readFileSync(join(import.meta.dirname, "../../../server/control/README.md"), "utf8");
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);

test("its commands do what it says", async () => {
  const server = await startServer();
  expect(commands.length).toBeGreaterThan(6);
  for (const command of commands) {
    const here = command
      .replaceAll("http://127.0.0.1:8080", server.url)
      .replaceAll("data/admin-token", server.service.adminTokenPath);
    const { stdout } = await promisify(execFile)("sh", ["-c", here]);
    const answer = JSON.parse(stdout) as Record<string, unknown>;
    expect([command, answer.error, answer.id ?? answer.token]).toEqual([
      command,
      undefined,
      expect.any(String),
    ]);
    expect([command, answer.warnings]).toEqual([command, undefined]);
  }
  expect((await ask(server, "GET", "/alerts/shop-errors")).status).toBe(200);
  await server.stop();
});

test("its limits and paths are those of the code", async () => {
  expect(readme).toContain(`${limits.changesPerSecondMax} changes a second`);
  expect(readme).toContain(`${limits.changesBurstMax.toLocaleString("en-US")} at once`);
  expect(readme).toContain(`\`limit\` 1 to ${limits.pageMax}, ${limits.pageDefault} when absent`);
  const claims = [
    [limits.idBytesMax, "| 900 bytes,"],
    [limits.nameLengthMax, ", 200 and 65,536 characters"],
    [limits.textLengthMax, ", 200 and 65,536 characters"],
    [limits.listedMax, "lists | 200 |"],
    [limits.datapointsMax, "| 1,440 |"],
    [limits.widgetsMax, "| 1,000 and 2,000 |"],
    [limits.dashboardQueriesMax, "| 1,000 and 2,000 |"],
    [limits.pageCharactersMax / 2 ** 20, "about 8 MiB |"],
  ] as const;
  for (const [value, text] of claims) {
    expect(readme).toContain(text);
    expect(text).toContain(value.toLocaleString("en-US"));
  }
  const server = await startServer();
  const { paths } = JSON.parse(await (await fetch(`${server.url}/openapi.json`)).text()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const named = [...readme.matchAll(/`(GET|POST|PUT|DELETE) (\/[\w/{}-]+)`/g)];
  expect(named.length).toBeGreaterThan(15);
  for (const [, method, path] of named) {
    expect([path, Object.keys(paths[`/api/v1${path}`] ?? {})]).toEqual([
      path,
      expect.arrayContaining([method!.toLowerCase()]),
    ]);
  }
  await server.stop();
});
