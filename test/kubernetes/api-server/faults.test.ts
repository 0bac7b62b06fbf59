/** What only the double can do on demand: faults, callers, and a clock. */

import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { ApiClient, readWatch, type WatchEvent } from "./client.ts";
import type { Fields, KubernetesObject } from "./objects.ts";
import { makeSample, sampleDefinition, sampleVersion } from "./sample.ts";

const samples = `/apis/${sampleVersion}/namespaces/default/samples`;
const watchFrom = (revision: string) =>
  `${samples}?watch=true&allowWatchBookmarks=true&resourceVersion=${revision}`;

let server: ApiServer;
let client: ApiClient;

beforeEach(async () => {
  server = await startApiServer({ bookmarkMs: 50 });
  server.create(sampleDefinition);
  server.create(makeSample("one"));
  client = new ApiClient(server.kubeconfig());
});

afterEach(async () => {
  client.close();
  await server.stop();
});

async function listRevision(): Promise<string> {
  return ((await client.get(samples)).body.metadata as Fields).resourceVersion as string;
}

/** Collects the events of a watch in the background; `ended` is resolved with how it ended. */
function follow(path: string): { events: WatchEvent[]; ended: Promise<string> } {
  const events: WatchEvent[] = [];
  const run = async () => {
    for await (const event of client.watch(path, AbortSignal.timeout(20_000))) events.push(event);
    return "end";
  };
  return { events, ended: run().catch((error: Error) => error.message) };
}

describe("faults", () => {
  test.each([
    [429, "TooManyRequests"],
    [500, "InternalError"],
  ])("%d is answered as often as asked for", async (status, reason) => {
    server.faults.answer(status, { times: 2, match: ({ verb }) => verb === "list" });
    expect((await client.get(`${samples}/one`)).code).toBe(200);
    for (let i = 0; i < 2; i++) {
      const { code, body, headers } = await client.get(samples);
      expect([code, body.reason]).toEqual([status, reason]);
      expect(headers["retry-after"]).toBe(status === 429 ? "1" : undefined);
    }
    expect((await client.get(samples)).code).toBe(200);
    expect(server.countRequests("list", "samples")).toBe(3);
  });

  test("requests are dropped or delayed until the faults are cleared", async () => {
    server.faults.drop();
    await expect(client.get(samples)).rejects.toThrow(/socket hang up|ECONNRESET/);
    server.faults.clear();
    server.faults.delay(30);
    const from = performance.now();
    expect((await client.get(samples)).code).toBe(200);
    expect(performance.now() - from).toBeGreaterThan(25);
  });

  test("open connections are reset", async () => {
    const watch = follow(watchFrom(await listRevision()));
    await expect.poll(() => server.watchCount).toBe(1);
    server.faults.dropConnections();
    expect(await watch.ended).not.toBe("end");
    // The agent may still hold a connection that is gone.
    await expect
      .poll(() =>
        client.get(samples).then(
          ({ code }) => code,
          () => 0,
        ),
      )
      .toBe(200);
  });

  test("a stalled watch is silent, a new one is not", async () => {
    const revision = await listRevision();
    const stalled = follow(watchFrom(revision));
    await expect.poll(() => server.watchCount).toBe(1);
    server.faults.stallWatches();
    server.create(makeSample("two"));
    const [event] = await readWatch(client, watchFrom(revision), () => true);
    expect(event).toMatchObject({ type: "ADDED", object: { metadata: { name: "two" } } });
    expect(stalled.events).toEqual([]);
    server.faults.stallWatches({ andNew: true });
    const silent = follow(watchFrom("0"));
    await expect.poll(() => server.countRequests("watch", "samples")).toBe(3);
    server.create(makeSample("three"));
    await sleep(50);
    expect(silent.events.filter(({ object }) => object.metadata.name === "three")).toEqual([]);
  });

  test("past revisions are answered 410 after a compaction: an event under status 200, a status of a page", async () => {
    server.create(makeSample("two"));
    const page = await client.get(`${samples}?limit=1`);
    const { resourceVersion, continue: token } = page.body.metadata as Record<string, string>;
    server.create(makeSample("three"));
    server.faults.compact();
    const watch = follow(watchFrom(resourceVersion!));
    expect(await watch.ended).toBe("end");
    expect(watch.events).toMatchObject([
      { type: "ERROR", object: { kind: "Status", reason: "Expired", code: 410 } },
    ]);
    const next = await client.get(`${samples}?limit=1&continue=${token}`);
    expect([next.code, next.body.reason]).toEqual([410, "Expired"]);
  });

  test("open watches are answered 410 on demand", async () => {
    const watch = follow(watchFrom(await listRevision()));
    await expect.poll(() => server.watchCount).toBe(1);
    server.faults.expireWatches();
    expect(await watch.ended).toBe("end");
    expect(watch.events.at(-1)).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test("a restart keeps address and objects, and forgets the past", async () => {
    const revision = await listRevision();
    server.create(makeSample("two"));
    const { url } = server;
    await server.faults.goDown();
    await expect(client.get(samples)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
    await server.faults.comeBack();
    expect(server.url).toBe(url);
    expect(((await client.get(samples)).body.items as Fields[]).length).toBe(2);
    const watch = follow(watchFrom(revision));
    await watch.ended;
    expect(watch.events).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
  });
});

test("a definition goes with its objects, its paths and its watches", async () => {
  const watch = follow(watchFrom(await listRevision()));
  await expect.poll(() => server.watchCount).toBe(1);
  server.delete(sampleDefinition);
  expect(await watch.ended).toBe("end");
  expect(watch.events[0]).toMatchObject({ type: "DELETED", object: { metadata: { name: "one" } } });
  expect((await client.get(samples)).code).toBe(404);
  server.create(sampleDefinition);
  expect((await client.get(samples)).body.items).toEqual([]);
});

describe("bookmarks", () => {
  test("come only after a revision, and name it", async () => {
    const watch = follow(`${watchFrom(await listRevision())}&timeoutSeconds=1`);
    await sleep(200);
    expect(watch.events).toEqual([]);
    const other = server.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other" } });
    await expect.poll(() => watch.events.length).toBe(1);
    expect(watch.events[0]).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "Sample", metadata: { resourceVersion: other.metadata.resourceVersion } },
    });
    expect(await watch.ended).toBe("end");
  });

  test("say when the first events of a streaming list are complete", async () => {
    const path = `${samples}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const events = await readWatch(client, path, ({ type }) => type === "BOOKMARK");
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(events[1]!.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
  });
});

describe("callers", () => {
  const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  test("what is not allowed is 403, with the words of a real server", async () => {
    const name = "system:serviceaccount:svc:exporter";
    server.access.addToken("exporter", { name, groups: [] });
    server.access.allow = ({ caller, resource }) => caller.name !== name || resource === "samples";
    expect((await client.get(samples, withToken("exporter"))).code).toBe(200);
    const { code, body } = await client.get("/api/v1/namespaces/default/secrets", withToken("exporter"));
    expect([code, body.reason]).toEqual([403, "Forbidden"]);
    expect(body.message).toBe(
      `secrets is forbidden: User "${name}" cannot list resource "secrets" in API group "" in the namespace "default"`,
    );
  });

  test("a token ends when its time is over, or on demand", async () => {
    server.access.addToken("short", { name: "short", groups: [] }, Date.now() + 60_000);
    expect((await client.get(samples, withToken("short"))).code).toBe(200);
    server.faults.expireToken("short");
    expect((await client.get(samples, withToken("short"))).code).toBe(401);
    server.access.addToken("over", { name: "over", groups: [] }, Date.now() - 1);
    expect((await client.get(samples, withToken("over"))).code).toBe(401);
  });

  test("a service account gets a token that names it", async () => {
    const path = "/api/v1/namespaces/default/serviceaccounts/exporter/token";
    const { code, body } = await client.send("POST", path, { spec: { expirationSeconds: 600 } });
    expect(code).toBe(201);
    let seen = "";
    server.access.allow = ({ caller }) => {
      seen = caller.name;
      return true;
    };
    await client.get(samples, withToken((body.status as Fields).token as string));
    expect(seen).toBe("system:serviceaccount:default:exporter");
  });

  test("a client certificate is as good as a token", async () => {
    const { certPem: cert, keyPem: key } = server.issueClientCertificate("hands", ["people"]);
    server.access.allow = ({ caller }) => caller.name === "hands" && caller.groups.includes("people");
    const codeWith = (identity: { cert?: string; key?: string }) =>
      new Promise<number>((resolve, reject) => {
        const sent = request(
          `${server.url}${samples}`,
          { ca: server.caPem, agent: false, ...identity },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode!);
          },
        );
        sent.on("error", reject);
        sent.end();
      });
    expect(await codeWith({ cert, key })).toBe(200);
    expect(await codeWith({})).toBe(401);
  });
});

describe("objects without HTTP", () => {
  test("are created with their status, applied, read, listed and deleted", async () => {
    const pod: KubernetesObject = {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "kube-system" } },
      ...{ spec: { nodeName: "a" }, status: { phase: "Running", podIP: "10.0.0.1" } },
    };
    server.create(pod);
    expect(server.get(pod)).toMatchObject({ status: { phase: "Running" } });
    server.apply({ ...pod, status: { phase: "Failed" } });
    const { body } = await client.get("/api/v1/pods?fieldSelector=spec.nodeName%3Da,status.phase%3DFailed");
    expect((body.items as Fields[]).length).toBe(1);
    expect(server.list("v1", "Pod").map(({ metadata }) => metadata.name)).toEqual(["web"]);
    server.delete(pod);
    expect(server.get(pod)).toBeUndefined();
    expect(() => server.create(makeSample("bad", { colour: "red" }))).toThrow('unknown field "spec.colour"');
  });

  test("five thousand objects are made, listed in pages and watched", async () => {
    for (let i = 0; i < 5_000; i++) server.create(makeSample(`many-${i}`));
    const names = new Set<string>();
    let token = "";
    do {
      const { body } = await client.get(`${samples}?limit=500&continue=${token}`);
      for (const { metadata } of body.items as KubernetesObject[]) names.add(metadata.name);
      token = ((body.metadata as Fields).continue as string | undefined) ?? "";
    } while (token !== "");
    expect(names.size).toBe(5_001);
    const events = await readWatch(client, `${samples}?watch=true`, (_event, all) => all.length === 5_001);
    expect(events.length).toBe(5_001);
  });
});
