/** Upserts are atomic: concurrent ones do not mix, and kill -9 loses none that was acknowledged. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSvc } from "../command/program.ts";
import type { Running } from "../running.ts";
import { startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { dashboard } from "./samples.ts";

/** A dashboard that holds one number in all its texts. */
function numbered(id: string, n: number) {
  const mark = `mark ${n}`;
  const widgets = Array.from({ length: 20 }, () => ({ type: "markdown", markdown: { content: mark } }));
  return { ...dashboard, metadata: { id, title: mark }, content: { title: mark, widgets } };
}

type Numbered = ReturnType<typeof numbered>;

function numberOf({ metadata, content }: Numbered): number {
  const marks = new Set([
    metadata.title,
    content.title,
    ...content.widgets.map((each) => each.markdown.content),
  ]);
  expect([...marks]).toHaveLength(1);
  return Number([...marks][0]!.slice("mark ".length));
}

test("concurrent upserts of one id: each is written whole, and a read never mixes two", async () => {
  const server = await startServer();
  const acknowledged: number[] = [];
  await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const got = await ask(server, "POST", "/dashboards/update", { dashboard: numbered("one", n) });
      expect(got.json).toEqual({ id: "one" });
      acknowledged.push(n);
      const read = await ask<{ dashboard: Numbered }>(server, "GET", "/dashboards/one");
      numberOf(read.json.dashboard);
    }),
  );
  expect(acknowledged).toHaveLength(100);
  await server.stop();
});

test("of concurrent upserts with one ETag, one wins", async () => {
  const server = await startServer();
  const first = await ask(server, "POST", "/dashboards/update", { dashboard: numbered("one", 0) });
  const headers = { "If-Match": first.headers.get("etag")! };
  const got = await Promise.all(
    Array.from({ length: 30 }, (_, n) => {
      return ask(server, "POST", "/dashboards/update", { dashboard: numbered("one", n + 1) }, { headers });
    }),
  );
  const won = got.findIndex(({ status }) => status === 200);
  expect(got.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
  expect(got.filter(({ status }) => status === 412)).toHaveLength(29);
  const read = await ask<{ dashboard: Numbered }>(server, "GET", "/dashboards/one");
  expect(numberOf(read.json.dashboard)).toBe(won + 1);
  await server.stop();
});

test("kill -9 in the middle of upserts loses no acknowledged one and leaves none half written", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
  const { child, printed, ended } = startSvc(["serve", "--data", dir, "--listen", "127.0.0.1:0"]);
  const out = await printed("admin token:");
  const url = /svc listens on (\S+)/.exec(out)![1]!;
  const adminToken = readFileSync(join(dir, "admin-token"), "utf8").trim();
  const remote = { url, adminToken } as Running;
  const acknowledged = new Map<string, number>();
  const sent = new Map<string, number>();
  const writer = async (id: string) => {
    for (let n = 1; ; n++) {
      sent.set(id, n);
      const got = await ask(remote, "POST", "/dashboards/update", { dashboard: numbered(id, n) });
      expect(got.status).toBe(200);
      acknowledged.set(id, n);
      if (acknowledged.size === 8 && [...acknowledged.values()].every((count) => count >= 5))
        child.kill("SIGKILL");
    }
  };
  const writers = Array.from({ length: 8 }, (_, i) => writer(`d${i}`));
  const outcomes = await Promise.allSettled(writers);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { message: "fetch failed" } });
  await ended;
  const server = await startServer({ dataDir: dir });
  for (const [id, n] of acknowledged) {
    const read = await ask<{ dashboard: Numbered }>(server, "GET", `/dashboards/${id}`);
    const found = numberOf(read.json.dashboard);
    expect(found).toBeGreaterThanOrEqual(n);
    expect(found).toBeLessThanOrEqual(sent.get(id)!);
  }
  await server.service.close();
  rmSync(dir, { recursive: true });
});
