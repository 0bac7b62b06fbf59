/** server/README.md says what is there. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { divideMemory } from "../../engine/index.ts";
import * as api from "../../server/api/limits.ts";
import * as http from "../../server/http/limits.ts";
import * as ingestion from "../../server/ingest/limits.ts";
import * as searching from "../../server/search/limits.ts";
import { call, ingest, lines, post, search, startServer } from "./running.ts";

const readme = readFileSync(join(import.meta.dirname, "../../server/README.md"), "utf8");

test("every path that it names answers, with the methods that it names", async () => {
  const server = await startServer();
  const named = [...readme.matchAll(/`(GET|POST|DELETE) (\/[^`]*)`/g)].map(
    (match) => [match[1]!, match[2]!] as const,
  );
  expect(named.length).toBeGreaterThan(8);
  for (const [method, path] of named) {
    const headers = { Authorization: `Bearer ${server.adminToken}` };
    const response = await fetch(server.url + path.replace("{id}", "0"), { method, headers });
    const { status } = response;
    // A tail answers without end.
    const text = status === 200 ? "" : await response.text();
    if (status === 200) await response.body?.cancel();
    const isThere = status !== 405 && !text.includes("there is nothing at");
    expect(isThere, `${method} ${path}`).toBe(true);
  }
  await server.stop();
});

test("its example of a search is answered with the fields that it shows", async () => {
  const server = await startServer();
  const [request, answer] = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(
    (match) => JSON.parse(match[1]!) as Record<string, unknown>,
  );
  const entry = (answer!.logs as Record<string, unknown>[])[0]!;
  await ingest(
    server,
    lines([
      { ...entry, message: "connection refused" },
      { ...entry, message: "refused again" },
    ]),
  );
  const got = await search(server, { ...request, limit: 1 });
  expect(got.json.logs[0]).toEqual({ ...entry, message: "connection refused" });
  expect(Object.keys(got.json)).toEqual(["count", "logs", "cursor"]);
  await server.stop();
});

test("its limits are those of the code", () => {
  const MiB = 2 ** 20;
  const limits = { ...api, ...http, ...ingestion, ...searching };
  const shown = [
    [limits.jsonBodyBytesMax / MiB, "JSON body | 2 MiB"],
    [limits.ingestBodyBytesMax / MiB, "packed and unpacked | 32 MiB"],
    [limits.jsonLinesBodyBytesMax / MiB, "(64 MiB of JSON lines)"],
    [limits.ingestUnpackedBytesMax / MiB, "and 128 MiB"],
    [limits.ingestRowsMax, "| 1,000,000 and"],
    [limits.ingestKeysMax, "and 131,072 |"],
    [limits.seriesMax, "points | 10,000, 100,000 and 1,000,000"],
    [limits.searchesInFlightMax, "searches at once | 64"],
    [divideMemory({ use: "server", bytes: 2 ** 36, cores: 2 }).requestBytes / MiB, "held at once | 512 MiB"],
    [limits.bodyReceiveMsMax / 1000, "after 120 s"],
  ] as const;
  for (const [value, text] of shown) {
    expect(readme).toContain(text);
    expect(text).toContain(value.toLocaleString("en-US"));
  }
});

type Example = Record<string, unknown>;

/** The JSON examples of one section. */
function examplesOf(heading: string): Example[] {
  const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))!;
  return [...section.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => JSON.parse(match[1]!) as Example);
}

test("rows of every signal as it shows them are taken, and its questions answered with the fields that it shows", async () => {
  const server = await startServer();
  const [span, metrics, resource] = examplesOf("Sending spans, metrics and other signals");
  const sent: [string, unknown, number][] = [
    ["spans", [span], 1],
    ["metrics", metrics, 6],
    ["kubernetes_resources", [resource], 1],
    ["logs", [{ timestamp: 1769676121007, message: "refused", attributes: { "service.name": "a" } }], 1],
  ];
  for (const [what, rows, accepted] of sent) {
    const { json } = await ingest(server, JSON.stringify(rows), {}, what);
    expect([what, json]).toEqual([what, { accepted, refused: 0, errors: [], duplicate: false }]);
  }
  const questions: [string, string, string][] = [
    ["traces", "Searching spans", "spans"],
    ["histogram", "Counting what a search finds", "series"],
    ["fields", "Fields", "fields"],
    ["values", "Values", "values"],
  ];
  for (const [path, heading, list] of questions) {
    const [question, answer] = examplesOf(heading);
    const { json } = await post(server, path, question!);
    // There is no next page here.
    expect([path, Object.keys(json)]).toEqual([path, Object.keys(answer!).filter((key) => key !== "cursor")]);
    const shown = (answer![list] as Example[])[0]!;
    if (path === "traces") expect((json[list] as Example[])[0]).toEqual(shown);
    else expect(Object.keys((json[list] as Example[])[0]!)).toEqual(Object.keys(shown));
  }
  const [trace] = examplesOf("A trace");
  const got = await call(server, `/api/v1/traces/${trace!.traceId}`);
  expect(Object.keys(got.json)).toEqual(Object.keys(trace!));
  await server.stop();
});
