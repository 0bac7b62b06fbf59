/** Managed resources are read by whom rules allow and changed by nobody here; and the rate limit of changes. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openState, type State } from "../../../engine/index.ts";
import { Tokens } from "../../../server/access/tokens.ts";
import type { Reply, ServerRequest } from "../../../server/api/route.ts";
import type { Control } from "../../../server/control/control-plane.ts";
import { openControl } from "../../../server/control/control-plane.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { rateLimitKeyOf } from "../../../server/model/caller.ts";
import type { Dashboard } from "../../../server/model/dashboard.ts";
import { RateLimiter } from "../../../server/throttle/rate-limiter.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { dashboard } from "./samples.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
const managedId = "kubernetes-managed.prod.shop.board";
let state: State;
let control: Control;

const admin: Caller = { tokenId: "a", name: "admin", role: "admin", groups: null, environment: null };
const editor: Caller = { ...admin, tokenId: "e", name: "editor", role: "editor" };
const member = (...groups: string[]): Caller => ({ ...editor, groups });

beforeAll(async () => {
  state = await openState(dir);
  control = openControl({
    delivery: { undeliverable: () => [], isWebhookOff: () => false },
    state,
    tokens: new Tokens(state, Date.now),
    append: async () => undefined,
    now: Date.now,
    log: () => undefined,
  });
  const value = { ...dashboard, metadata: { ...dashboard.metadata, id: managedId } } as Dashboard;
  const write = { by: admin, ifMatch: null };
  await control.collections.dashboards.put(managedId, () => value, {
    ...write,
    managed: { cluster: "prod", namespace: "shop" },
  });
  const own = { ...dashboard, metadata: { ...dashboard.metadata, id: "own" } } as Dashboard;
  await control.collections.dashboards.put("own", () => own, write);
  const grant = (group: string, verbs: ("read" | "update")[]) =>
    ({
      type: "namespace",
      groups: [group],
      cluster: "prod",
      namespace: "shop",
      rules: [{ resources: ["dashboards"], verbs }],
    }) as const;
  for (const [group, verbs] of [
    ["readers", ["read"]],
    ["writers", ["read", "update"]],
  ] as const) {
    const { rules, groups, ...rest } = grant(group, [...verbs]);
    const rule = {
      ...rest,
      groups: [...groups],
      rules: rules.map((one) => ({ ...one, resources: [...one.resources] })),
    };
    await control.collections.resourceRules.put(group, () => rule, write);
  }
});
afterAll(async () => {
  await control.close();
  await state.close();
  rmSync(dir, { recursive: true });
});

async function request(caller: Caller, method: string, path: string, body?: unknown): Promise<Reply> {
  const route = control.routes.find((each) => each.method === method && fits(each.path, path));
  const request = {
    method,
    path,
    params: { id: path.split("/").at(-1)! },
    query: new URLSearchParams(),
    headers: new Map(),
    body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
    caller,
    readmit: () => caller,
    signal: new AbortController().signal,
  } as ServerRequest;
  if (path.endsWith("update")) Object.assign(request, { params: {} });
  try {
    return await route!.answer(request);
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.message };
    throw error;
  }
}

function fits(pattern: string, path: string): boolean {
  return (
    pattern === path ||
    (pattern.endsWith("/{id}") && pattern.slice(0, -4) === path.slice(0, path.lastIndexOf("/") + 1))
  );
}

const one = `/api/v1/dashboards/${managedId}`;

describe("a managed dashboard", () => {
  test.each([
    ["an admin", admin, 200, 409, 2],
    ["an editor of no group", editor, 200, 409, 2],
    ["a member whose rule lets it read", member("readers"), 200, 403, 2],
    ["a member whose rule lets it write", member("writers"), 200, 409, 2],
    ["a member of another group", member("others"), 404, 409, 1],
  ])("%s", async (_name, caller, readStatus, writeStatus, listed) => {
    expect((await request(caller, "GET", one)).status).toBe(readStatus);
    const changed = { dashboard: { ...dashboard, metadata: { ...dashboard.metadata, id: managedId } } };
    expect((await request(caller, "POST", "/api/v1/dashboards/update", changed)).status).toBe(writeStatus);
    expect([403, writeStatus]).toContain((await request(caller, "DELETE", one)).status);
    const list = await request(caller, "GET", "/api/v1/dashboards");
    expect((JSON.parse(String(list.body)) as { dashboards: unknown[] }).dashboards).toHaveLength(listed);
    expect((await request(caller, "GET", "/api/v1/dashboards/own")).status).toBe(200);
  });
});

test("the rate of changes is limited for each caller, and recovers with time", () => {
  let nowMs = 0;
  const bound = new RateLimiter({ perSecond: 10, burst: 20, what: "changes", elapsed: () => nowMs });
  const spend = (caller: Caller) => {
    try {
      bound.spend(rateLimitKeyOf(caller));
      return 200;
    } catch (error) {
      return (error as Refusal).status;
    }
  };
  const times = (count: number, caller: Caller) => Array.from({ length: count }, () => spend(caller));
  expect(times(20, editor)).toEqual(Array(20).fill(200));
  expect(spend(editor)).toBe(429);
  expect(spend(admin)).toBe(200);
  nowMs = 500;
  expect(times(6, editor)).toEqual([200, 200, 200, 200, 200, 429]);
  nowMs = 1_000_000;
  expect(times(21, editor).filter((status) => status === 200)).toHaveLength(20);
});
