/** GET /notifications: pages of a list that grows and loses entries meanwhile, and what it shows to whom; resending. */

import { beforeEach, expect, test } from "vitest";
import { resendingProblem, type VisibleAlert } from "../../../server/access/alert-visibility.ts";
import type { Reply, ServerRequest } from "../../../server/api/route.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { makeNotification, type Notification } from "../../../server/notify/notification.ts";
import type { Notifier } from "../../../server/notify/notifier.ts";
import { notificationRoutes } from "../../../server/notify/routes.ts";
import { fired, hook } from "./events.ts";

const caller: Caller = { tokenId: "e", name: "e", role: "editor", groups: ["shop"], environment: null };

/** The newest first, as the outbox lists them. */
let all: Notification[];
const resent: string[] = [];
const alerts = new Map<string, VisibleAlert>();
const outbox = { list: () => all, resend: async (id: string) => resent.push(id) };
const routes = notificationRoutes({ outbox } as unknown as Notifier, {
  alertsOf: () => [],
  alertOf: (id) => alerts.get(id),
  webhookOf: () => undefined,
});

function makeAt(id: string, name: string, atMs: number): Notification {
  return makeNotification(
    { id, event: fired(name), action: hook("ops"), sequence: 1, groupKey: null },
    atMs,
    atMs,
  );
}

beforeEach(() => {
  alerts.clear();
  alerts.set("alert-1", { alert: {} as never, canNotify: true, canResend: true, isWhole: true });
  // Two at a time have the same millisecond.
  all = Array.from({ length: 7 }, (_, i) => {
    return makeAt(`n${i}`, `s${i}`, 1_000 - Math.floor(i / 2));
  });
});

interface Page {
  notifications: { id: string; problem: string | null }[];
  cursor?: string;
}

async function answer(method: string, path: string, query = "", id?: string): Promise<Reply> {
  const route = routes.find((each) => each.method === method && each.path === path)!;
  const params = id === undefined ? {} : { id };
  const request = { params, query: new URLSearchParams(query), headers: new Map(), caller };
  return route.answer(request as unknown as ServerRequest);
}

async function list(query: string): Promise<Page> {
  return JSON.parse(String((await answer("GET", "/api/v1/notifications", query)).body)) as Page;
}

async function pagesOf(limit: number, between: () => void = () => undefined): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: Page = await list(`limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    found.push(...page.notifications.map(({ id }) => id));
    cursor = page.cursor;
    between();
  }
  return found;
}

test("pages hold each notification once, in order", async () => {
  const ids = all.map(({ id }) => id);
  expect((await list("")).notifications.map(({ id }) => id)).toEqual(ids);
  for (const limit of [1, 2, 3, 7, 8]) expect(await pagesOf(limit)).toEqual(ids);
});

test("new ones before the first page, and the end of the last one of a page, move nothing that comes after", async () => {
  let count = 0;
  const grow = () => all.unshift(makeAt(`new${count}`, `new${count++}`, 2_000));
  expect(await pagesOf(2, grow)).toEqual(["n0", "n1", "n2", "n3", "n4", "n5", "n6"]);
  all = all.filter(({ id }) => id.startsWith("n") && !id.startsWith("new"));
  const { cursor } = await list("limit=2");
  all = all.filter(({ id }) => id !== "n1");
  expect((await list(`limit=2&cursor=${cursor}`)).notifications.map(({ id }) => id)).toEqual(["n2", "n3"]);
});

test("those of one alert are found behind any number of others, page by page, by who may see them", async () => {
  const rare = all.map((each, i) => {
    return { ...each, id: `rare${i}`, event: { ...each.event, alertId: "alert-2" }, createdAtMs: 10 - i };
  });
  const others = Array.from({ length: 1_500 }, (_, i) => makeAt(`n${i}`, `s${i}`, 5_000 - i));
  all = [...others, ...rare];
  const ofAlert = async (query: string) => {
    const { notifications, cursor } = await list(query);
    return { ids: notifications.map(({ id }) => id), cursor };
  };
  expect((await ofAlert("alertId=alert-2")).ids).toEqual([]);
  alerts.set("alert-2", alerts.get("alert-1")!);
  expect(await ofAlert("alertId=alert-2")).toEqual({ ids: rare.map(({ id }) => id), cursor: undefined });
  const first = await ofAlert("alertId=alert-2&limit=4");
  expect(first.ids).toEqual(["rare0", "rare1", "rare2", "rare3"]);
  const second = await ofAlert(`alertId=alert-2&limit=4&cursor=${first.cursor}`);
  expect(second).toEqual({ ids: ["rare4", "rare5", "rare6"], cursor: undefined });
});

test("what receivers answered is shown to who reads all that the alert reads", async () => {
  all = [{ ...all[0]!, problem: "the receiver answered 500: service.name=pay" }, all[1]!];
  const problems = async () => (await list("")).notifications.map(({ problem }) => problem);
  expect(await problems()).toEqual(["the receiver answered 500: service.name=pay", null]);
  alerts.get("alert-1")!.isWhole = false;
  expect(await problems()).toEqual(["it was not delivered", null]);
});

test("one is sent again by who reads the rows of its alert", async () => {
  const resend = () => answer("POST", "/api/v1/notifications/{id}/resend", "", "n3");
  expect((await resend()).status).toBe(200);
  alerts.get("alert-1")!.canResend = false;
  await expect(resend()).rejects.toMatchObject({ status: 403, message: resendingProblem });
  expect(resent).toEqual(["n3"]);
});
