/** A hub and an API server that ask for a pause get one, of minutes at most; no pause holds on to anything. */

import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiClient } from "../../../server/kubernetes/cluster/api-client.ts";
import { ApiError } from "../../../server/kubernetes/cluster/api-error.ts";
import { ObjectWatch } from "../../../server/kubernetes/cluster/object-watch.ts";
import { HubChannel } from "../../../server/kubernetes/exporter/hub-channel.ts";
import { HubClient } from "../../../server/kubernetes/exporter/hub-client.ts";
import { StatusWriter } from "../../../server/kubernetes/exporter/status-writer.ts";

describe("a server that asks for a pause", () => {
  let server: Server;
  let url = "";
  let requests = 0;
  let retryAfter = "";
  beforeEach(async () => {
    requests = 0;
    server = createServer((_, response) => {
      requests++;
      response.writeHead(503, { "Retry-After": retryAfter }).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const openHub = () => new HubClient({ url, token: () => "" });
  const openApi = () =>
    new ApiClient({
      ...{ server: url, isInsecure: false, namespace: "" },
      ...{ ca: () => undefined, token: () => undefined },
    });

  test.each([
    ["2", 2_000],
    ["2147484", 300_000],
    ["9999999999", 300_000],
    ["Thu, 29 Jan 2126 08:42:00 GMT", 300_000],
    ["Thu, 29 Jan 2026 08:42:00 GMT", 0],
    ["-5", undefined],
    ["soon", undefined],
  ])("Retry-After: %s is a pause of %j ms", async (value, retryAfterMs) => {
    retryAfter = value;
    const [hub, api] = [openHub(), openApi()];
    await expect(hub.apply([])).rejects.toMatchObject({ status: 503, retryAfterMs });
    await expect(api.send("/api")).rejects.toMatchObject({ status: 503, retryAfterMs });
    hub.close();
    api.close();
  });

  test("for longer than a timer takes is not asked again at once", async () => {
    retryAfter = "9999999999";
    const hub = openHub();
    const channel = new HubChannel({
      ...{ hub, readSecret: undefined, random: () => 0, log: () => undefined },
      ...{ onSynchronise: () => undefined, onRules: () => undefined },
    });
    channel.run();
    const api = openApi();
    const watch = new ObjectWatch({
      ...{ client: api, random: () => 0, log: () => undefined },
      collection: { apiVersion: "v1", kind: "Pod", plural: "pods" },
      watcher: { listed: () => undefined, changed: () => undefined, deleted: () => undefined },
    });
    watch.run();
    await expect.poll(() => requests).toBeGreaterThanOrEqual(2);
    await sleep(300);
    expect(requests).toBe(2);
    await channel.close();
    await watch.close();
    hub.close();
    api.close();
  });
});

test("the writer of statuses holds on to no pause that is over, and ends in the middle of one", async () => {
  vi.useFakeTimers();
  const signals: AbortSignal[] = [];
  const real = AbortController;
  vi.stubGlobal(
    "AbortController",
    class extends real {
      constructor() {
        super();
        signals.push(this.signal);
      }
    },
  );
  try {
    let tries = 0;
    const writer = new StatusWriter({
      client: {
        apply: async () => {
          tries++;
          throw new ApiError("the API server answered 503: busy", 503);
        },
      },
      collectionOf: () => ({ apiVersion: "v1", plural: "things" }),
      ...{ nowMs: () => 0, random: () => 0, log: () => undefined },
    });
    const metadata = { name: "o", namespace: "a", uid: "u", generation: 1 };
    writer.take({ kind: "Thing", metadata, spec: {} }, { applied: undefined, problem: "away" });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tries).toBeGreaterThan(20);
    const listeners = () => signals.reduce((sum, each) => sum + getEventListeners(each, "abort").length, 0);
    expect(listeners()).toBeLessThanOrEqual(1);
    writer.close();
    await vi.advanceTimersByTimeAsync(0);
    expect([listeners(), vi.getTimerCount()]).toEqual([0, 0]);
    const before = tries;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tries).toBe(before);
  } finally {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  }
});
