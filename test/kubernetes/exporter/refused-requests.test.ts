/** What the hub will never take is given up by itself: what else there is reaches the hub. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HubError } from "../../../server/kubernetes/exporter/hub-client.ts";
import { type ClusterObject, ObjectSync } from "../../../server/kubernetes/exporter/object-sync.ts";
import { CheckingHub, closed, keyText, ModelHub } from "./model-hub.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Starts a synchronisation that writes down the last outcome of each object. */
function openWatched(hub: ConstructorParameters<typeof ObjectSync>[0]["hub"]) {
  const outcomes = new Map<string, string>();
  const logged: string[] = [];
  const sync = new ObjectSync({
    hub,
    onOutcome: ({ metadata }, applied, problem) =>
      void outcomes.set(
        metadata.name,
        `${applied?.reason ?? "HubUnreachable"} ${applied?.message ?? problem}`,
      ),
    random: () => 0,
    log: (message) => void logged.push(message),
  });
  return { sync, outcomes, logged };
}

const objectOf = (name: string, spec: unknown, kind = "SvcDashboard"): ClusterObject => ({
  kind,
  metadata: { name, namespace: "a", uid: `uid of ${name}`, generation: 1 },
  spec,
});

const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

test("an object that nests too deep is refused by itself, and others go on", async () => {
  const hub = new CheckingHub();
  const { sync, outcomes } = openWatched(hub);
  const fits = objectOf("fits", nested(61));
  sync.listed("SvcDashboard", [objectOf("deepest", nested(9_000)), objectOf("deep", nested(62)), fits]);
  sync.changed(objectOf("other", {}));
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...hub.objects.keys()]).toEqual(["SvcDashboard/a/fits", "SvcDashboard/a/other"]);
  expect([...outcomes].sort()).toEqual([
    ["deep", "InvalidSpec spec nests more than 61 objects and arrays"],
    ["deepest", "InvalidSpec spec nests more than 61 objects and arrays"],
    ["fits", "Synced "],
    ["other", "Synced "],
  ]);
  expect(sync.waiting).toBe(0);
  await closed(sync);
});

test.each([
  ["a member that no body may have", JSON.parse('{"a":{"__proto__":{}}}') as unknown, 400],
  ["more bytes than a body may have", { text: "漢".repeat(800_000) }, 413],
])("of a batch with %s only that object is refused", async (_, spec, status) => {
  const hub = new CheckingHub();
  const { sync, outcomes } = openWatched(hub);
  sync.changed(objectOf("bad", spec));
  for (let i = 0; i < 200; i++) sync.changed(objectOf(`good${i}`, { i }, "SvcAlert"));
  await vi.advanceTimersByTimeAsync(5_000);
  expect([hub.objects.size, sync.waiting]).toEqual([200, 0]);
  expect(outcomes.get("bad")).toContain(`InvalidSpec the hub answered ${status}`);
  outcomes.delete("bad");
  expect(new Set(outcomes.values())).toEqual(new Set(["Synced "]));
  // It is not sent again before it changes.
  const { requests } = hub;
  sync.changed(objectOf("bad", spec));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(hub.requests).toBe(requests);
  await closed(sync);
});

test("text that takes more bytes than characters does not make a request too long", async () => {
  const hub = new CheckingHub();
  const { sync, outcomes } = openWatched(hub);
  for (let i = 0; i < 20; i++) sync.changed(objectOf(`o${i}`, { text: "漢".repeat(60_000) }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect([hub.objects.size, hub.requests]).toEqual([20, 3]);
  expect(new Set(outcomes.values())).toEqual(new Set(["Synced "]));
  await closed(sync);
});

test("objects that the hub cannot take now hold up no others, and are sent again less and less often", async () => {
  const hub = new ModelHub();
  const tries = new Map<string, number>();
  let isFull = true;
  hub.isTooMuch = ({ metadata: { name } }) => {
    tries.set(name, (tries.get(name) ?? 0) + 1);
    return isFull && name.startsWith("more");
  };
  const { sync, outcomes, logged } = openWatched(hub);
  hub.objects.set("SvcAlert/a/gone", {});
  // More than one request takes stand before the others.
  const more = Array.from({ length: 300 }, (_, i) => objectOf(`more${i}`, {}, "SvcAlert"));
  const others = Array.from({ length: 300 }, (_, i) => objectOf(`other${i}`, {}, "SvcAlert"));
  sync.listed("SvcAlert", [...more, ...others]);
  await vi.advanceTimersByTimeAsync(200);
  expect([hub.objects.size, sync.waiting]).toEqual([300, 300]);
  expect(hub.objects.has("SvcAlert/a/gone")).toBe(false);
  expect(outcomes.get("more0")).toBe("QuotaExceeded ");
  // What changes meanwhile does not wait for them. A change of their status alone is no reason to send them.
  await vi.advanceTimersByTimeAsync(200_000);
  const before = tries.get("more0")!;
  sync.changed(objectOf("new", {}));
  for (const object of more) sync.changed({ ...object, status: { conditions: [] } });
  await vi.advanceTimersByTimeAsync(200);
  expect(hub.objects.has("SvcDashboard/a/new")).toBe(true);
  expect(tries.get("more0")).toBe(before);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(tries.get("more0")! - before).toBeGreaterThan(55);
  expect(tries.get("more0")! - before).toBeLessThan(130);
  expect(tries.get("other0")).toBe(1);
  expect(logged).toEqual([
    "the hub could not take all objects now",
    "removed 1 of kind SvcAlert that the cluster does not have",
  ]);
  isFull = false;
  await vi.advanceTimersByTimeAsync(61_000);
  expect([hub.objects.size, sync.waiting]).toEqual([601, 0]);
  await closed(sync);
});

test("an object with which each request fails is alone with that", async () => {
  const hub = new ModelHub();
  const apply = hub.apply.bind(hub);
  hub.apply = async (objects) => {
    if (objects.some(({ metadata }) => metadata.name === "poison")) throw new HubError("it failed", 500);
    return apply(objects);
  };
  const { sync, outcomes } = openWatched(hub);
  sync.changed(objectOf("poison", {}));
  for (let i = 0; i < 600; i++) sync.changed(objectOf(`good${i}`, { i }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([hub.objects.size, sync.waiting]).toEqual([600, 1]);
  expect(outcomes.get("poison")).toBe("HubUnreachable it failed");
  await closed(sync);
});

const longName = (i: number) => `${"n".repeat(200)}-${String(i).padStart(6, "0")}`;

test("a kind with more names than a request takes is swept in parts, and only what is gone is removed", async () => {
  const hub = new CheckingHub();
  const { sync, logged } = openWatched(hub);
  const all = Array.from({ length: 30_000 }, (_, i) => objectOf(longName(i), {}));
  const isGone = (i: number) => i % 1_000 === 0 || i === all.length - 1;
  for (const { kind, metadata } of all) hub.objects.set(keyText({ kind, ...metadata }), {});
  sync.listed(
    "SvcDashboard",
    all.filter((_, i) => !isGone(i)),
  );
  await vi.advanceTimersByTimeAsync(500);
  hub.delayMs = () => 1_000;
  // Between the parts objects are made, below and above what is swept already.
  const others = [longName(1_000_000), `a${longName(5)}`, `z${longName(5)}`, longName(0)];
  for (const name of others) {
    sync.changed(objectOf(name, {}));
    await vi.advanceTimersByTimeAsync(1_500);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sync.waiting).toBe(0);
  const wanted = all.filter((_, i) => !isGone(i)).map(({ metadata }) => metadata.name);
  const found = [...hub.objects.keys()].map((key) => key.slice("SvcDashboard/a/".length));
  expect(found.sort()).toEqual([...wanted, ...others].sort());
  expect(logged.join()).not.toContain("not removed");
  await closed(sync);
});

test.each([400, 503])("a sweep that is answered %i holds up no other kind", async (status) => {
  const hub = new CheckingHub();
  const sweep = hub.sweep.bind(hub);
  let isRefused = true;
  hub.sweep = async (kind, kept, range) => {
    if (kind === "SvcDashboard" && isRefused) throw new HubError(`the hub answered ${status}`, status);
    return sweep(kind, kept, range);
  };
  const { sync, logged } = openWatched(hub);
  for (const kind of ["SvcDashboard", "SvcAlert"]) hub.objects.set(`${kind}/a/gone`, {});
  sync.listed("SvcDashboard", []);
  sync.listed("SvcAlert", []);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...hub.objects.keys()]).toEqual(["SvcDashboard/a/gone"]);
  expect(sync.waiting).toBe(status === 400 ? 0 : 1);
  expect(logged.join()).toContain(`the hub answered ${status}`);
  isRefused = false;
  if (status === 400) sync.listed("SvcDashboard", []);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([hub.objects.size, sync.waiting]).toEqual([0, 0]);
  await closed(sync);
});
