/** The API's document makes a client: types without a warning, with which the READMEs' examples compile, and run. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import type { Document } from "../control/json-schema.ts";
import { call, type Running, startServer } from "../running.ts";

const root = join(import.meta.dirname, "../../..");
const generator = join(root, "test/client/node_modules/openapi-typescript/bin/cli.js");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const run = promisify(execFile);

let server: Running;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  // Below node_modules the program finds the client's library.
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
  folder = mkdtempSync(join(root, "node_modules/.cache/svc-client-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
});

interface Example {
  path: string;
  query: Record<string, number>;
  /** JSON; undefined for a GET. */
  body: string | undefined;
}

/** What the READMEs send with curl. */
function examples(): Example[] {
  const texts = ["README.md", "server/README.md", "server/control/README.md"].map((file) =>
    readFileSync(join(root, file), "utf8"),
  );
  const blocks = texts.flatMap((text) =>
    [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!),
  );
  const curls = blocks.flatMap((block) => block.split(/^curl /m).slice(1));
  return curls.map((curl) => {
    const url = new URL(/http:\/\/[^'\s]+/.exec(curl)![0]);
    const body = /-d '([^']*)'/.exec(curl)?.[1] ?? /<<'END'\n([\s\S]*?)\nEND/.exec(curl)?.[1];
    const query = Object.fromEntries([...url.searchParams].map(([name, value]) => [name, Number(value)]));
    const isLines = curl.includes("x-ndjson");
    return { path: url.pathname, query, body: isLines ? `[${body!.replaceAll("\n", ",")}]` : body };
  });
}

/** The call of one example, typed by the path as the document has it. */
function callOf({ path, query, body }: Example, { paths }: Document): string {
  const pattern = Object.keys(paths).find((each) =>
    new RegExp(`^${each.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  )!;
  if (body === undefined) {
    const inPath = { [/\{(\w+)\}/.exec(pattern)![1]!]: path.split("/").at(-1)! };
    return `client.GET(${JSON.stringify(pattern)}, { params: ${JSON.stringify({ path: inPath, query })} })`;
  }
  const { content } = paths[pattern]!.post!.responses["200"]!;
  const parseAs = "application/json" in content! ? "json" : "text";
  return `client.POST(${JSON.stringify(pattern)}, { body: ${body}, parseAs: "${parseAs}" })`;
}

function programOf(calls: readonly string[]): string {
  return [
    'import createClient from "openapi-fetch";',
    'import type { paths } from "./api.ts";',
    "const [baseUrl, token] = process.argv.slice(2) as [string, string];",
    "const client = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + token } });",
    "const tell = (path: string, answer: { error?: { error: string }; response: Response }) =>",
    "  console.log(JSON.stringify([path, answer.response.status, answer.error?.error ?? null]));",
    ...calls.map((each) => `tell(${JSON.stringify(each.slice(0, 60))}, await ${each});`),
  ].join("\n");
}

/** The traces that examples read must be there. */
async function sendTraces(all: readonly Example[]): Promise<void> {
  const read = all.filter(({ path }) => path.includes("/traces/"));
  const spans = read.map(({ path, query }) => {
    const nano = `${query.startTime ?? Date.now()}000000`;
    const times = { startTimeUnixNano: nano, endTimeUnixNano: nano };
    return { ...times, traceId: path.split("/").at(-1), spanId: "b".repeat(16), name: "x" };
  });
  expect((await ask(server, "POST", "/ingest/spans", spans)).status).toBe(200);
}

test("the generated client runs the READMEs' examples", async () => {
  const { text, json } = await call<Document>(server, "/openapi.json");
  writeFileSync(join(folder, "openapi.json"), text);
  const made = await run(process.execPath, [
    generator,
    join(folder, "openapi.json"),
    "-o",
    join(folder, "api.ts"),
  ]);
  expect(made.stderr.split("\n").filter((line) => !/^(?:✨|🚀|$)/u.test(line))).toEqual([]);

  const all = examples();
  expect(all.length).toBeGreaterThan(13);
  await sendTraces(all);
  const calls = all.map((each) => callOf(each, json));
  writeFileSync(join(folder, "examples.ts"), programOf(calls));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const options = { ...compilerOptions, outDir: "." };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, files: ["examples.ts"] }),
  );
  const compiled = await run(process.execPath, [compiler, "-p", folder]).catch(
    (error: { stdout: string }) => error,
  );
  expect(compiled.stdout).toBe("");

  const { stdout } = await run(process.execPath, [
    join(folder, "examples.js"),
    server.url,
    server.adminToken,
  ]);
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as [string, number, string | null]);
  expect(answers).toEqual(calls.map((each) => [each.slice(0, 60), 200, null]));
});

test("the types refuse what the API refuses", async () => {
  const wrong = [
    'client.POST("/api/v1/query/logs", { body: { query: "", startTime: "now", endTime: 1 } })',
    'client.POST("/api/v1/alerts/update", { body: { alert: { metadata: { nam: "x" } } } })',
    'client.GET("/api/v1/alert", {})',
  ];
  writeFileSync(join(folder, "examples.ts"), programOf(wrong));
  const compiled = await run(process.execPath, [compiler, "-p", folder]).catch(
    (error: { stdout: string }) => error,
  );
  const lines = new Set([...compiled.stdout.matchAll(/^.*examples\.ts\((\d+),/gm)].map((match) => match[1]));
  expect(lines.size).toBe(wrong.length);
});

const compilerOptions = {
  target: "es2024",
  module: "nodenext",
  lib: ["es2024", "dom", "dom.iterable"],
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
};
