/** Random histories of objects and faults of the hub: in the end the hub has what the cluster's objects say. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { AppliedObject } from "../../../server/kubernetes/exporter/hub-client.ts";
import { type Condition, nextStatus } from "../../../server/kubernetes/exporter/object-status.ts";
import { type ClusterObject, ObjectSync } from "../../../server/kubernetes/exporter/object-sync.ts";
import { closed, isBad, keyText, ModelHub } from "./model-hub.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const kinds = ["SvcAlert", "SvcWebhook"];

describe("random histories", () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("SVC_SEED + %i", async (offset) => {
    const random = new Random(seed, offset);
    const hub = new ModelHub();
    hub.fate = () => random.pick(["none", "none", "before", "after", "refused"]);
    hub.delayMs = () => random.below(1_500);
    hub.isTooMuch = () => random.oneIn(4);
    const objects = new Map<string, ClusterObject>();
    let uids = 0;
    let generation = 0;
    let sync = open();
    function open() {
      return new ObjectSync({
        hub,
        onOutcome: () => undefined,
        random: () => random.below(100) / 100,
        log: () => undefined,
      });
    }
    for (let step = 0; step < 400; step++) {
      const kind = random.pick(kinds);
      const key = { kind, namespace: random.pick(["a", "b"]), name: `o${random.below(6)}` };
      const known = objects.get(keyText(key));
      const action = random.below(20);
      if (action < 10) {
        const spec = { value: step, isBad: random.oneIn(5) };
        const uid = known?.metadata.uid ?? `uid${uids++}`;
        const object = { kind, metadata: { ...key, uid, generation: ++generation }, spec };
        objects.set(keyText(key), object);
        // A watch that was cut tells of some changes only with its next list.
        if (!random.oneIn(8)) sync.changed(object);
      } else if (action < 15) {
        objects.delete(keyText(key));
        if (!random.oneIn(8)) sync.deleted(key);
      } else if (action < 18) {
        sync.listed(
          kind,
          [...objects.values()].filter((each) => each.kind === kind),
        );
      } else if (action === 18) {
        // Killed and started again: it knows nothing, and lists everything.
        await closed(sync);
        sync = open();
      }
      if (random.oneIn(3)) await vi.advanceTimersByTimeAsync(random.below(2_000));
    }
    hub.fate = () => "none";
    hub.isTooMuch = () => false;
    for (const kind of kinds)
      sync.listed(
        kind,
        [...objects.values()].filter((each) => each.kind === kind),
        { again: true },
      );
    // What the watch tells of after the list, and before the sweep that follows it.
    for (let i = 0; i < 8; i++) {
      const key = { kind: random.pick(kinds), namespace: "a", name: `o${random.below(12)}` };
      const known = objects.get(keyText(key));
      if (known !== undefined && random.oneIn(2)) {
        objects.delete(keyText(key));
        sync.deleted(key);
      } else {
        const metadata = { ...key, uid: known?.metadata.uid ?? `uid${uids++}`, generation: ++generation };
        const object = { kind: key.kind, metadata, spec: { value: `last ${i}` } };
        objects.set(keyText(key), object);
        sync.changed(object);
      }
      await vi.advanceTimersByTimeAsync(random.below(3) * 500);
    }
    await vi.advanceTimersByTimeAsync(120_000);
    expect(sync.waiting).toBe(0);
    for (const [key, { spec }] of objects)
      if (!isBad(spec)) expect([key, hub.objects.get(key)]).toEqual([key, spec]);
    for (const key of hub.objects.keys()) expect(objects.has(key), key).toBe(true);
    await closed(sync);
  });
});

test("a burst of changes shares requests, and a change of the status alone sends nothing", async () => {
  const hub = new ModelHub();
  const sync = new ObjectSync({ hub, onOutcome: () => undefined, random: () => 0, log: () => undefined });
  const all = Array.from({ length: 1_000 }, (_, i): ClusterObject => {
    return {
      kind: "SvcAlert",
      metadata: { name: `o${i}`, namespace: "a", uid: `u${i}`, generation: 1 },
      spec: { i },
    };
  });
  for (const object of all) sync.changed(object);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([hub.objects.size, hub.requests]).toEqual([1_000, 4]);
  for (const object of all) sync.changed({ ...object, status: { id: "x" } });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(hub.requests).toBe(4);
  await closed(sync);
});

test("a hub that is away is asked less and less, and told everything when it is back", async () => {
  const hub = new ModelHub();
  hub.fate = () => "before";
  const problems: (string | undefined)[] = [];
  const sync = new ObjectSync({
    hub,
    onOutcome: (_, applied, problem) => problems.push(applied?.reason ?? problem),
    random: () => 1,
    log: () => undefined,
  });
  sync.changed({ kind: "SvcAlert", metadata: { name: "o", namespace: "a", uid: "u" }, spec: { value: 1 } });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(hub.requests).toBeGreaterThan(50);
  expect(hub.requests).toBeLessThan(200);
  expect(problems[0]).toBe("away");
  hub.fate = () => "none";
  await vi.advanceTimersByTimeAsync(31_000);
  expect(hub.objects.get("SvcAlert/a/o")).toEqual({ value: 1 });
  expect(problems.at(-1)).toBe("Synced");
  await closed(sync);
});

describe("the status", () => {
  const applied: AppliedObject = {
    ...{ kind: "SvcAlert", namespace: "a", name: "o", uid: "u", id: "the id" },
    ...{ reason: "Synced", isTemporary: false, message: "" },
  };
  const short = (conditions: Condition[]) =>
    conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

  test("says what the hub made of the object", () => {
    const status = nextStatus(undefined, { generation: 3, applied }, 0);
    expect(status).toMatchObject({
      id: "the id",
      observedGeneration: 3,
      lastSyncTime: "1970-01-01T00:00:00Z",
    });
    expect(short(status.conditions)).toEqual([
      "Accepted=True Valid",
      "Synced=True Synced",
      "Ready=True Synced",
    ]);
    const refused = { ...applied, reason: "InvalidQuery", message: "spec.query: no" };
    const bad = nextStatus(status, { generation: 4, applied: refused }, 60_000);
    expect(short(bad.conditions)).toEqual([
      "Accepted=False InvalidQuery",
      "Synced=False InvalidQuery",
      "Ready=False InvalidQuery",
    ]);
    expect(bad.conditions[2]).toMatchObject({
      message: "spec.query: no",
      lastTransitionTime: "1970-01-01T00:01:00Z",
    });
    // The last good version stays at the hub.
    expect(bad).toMatchObject({ id: "the id", lastSyncTime: "1970-01-01T00:00:00Z" });
    const away = nextStatus(
      status,
      { generation: 4, applied: undefined, problem: "the hub is away" },
      60_000,
    );
    expect(short(away.conditions)[0]).toBe("Accepted=Unknown HubUnreachable");
  });

  test("stays the same object where only the time would change, and keeps the time of the last transition", () => {
    const status = nextStatus(undefined, { generation: 3, applied }, 0);
    expect(nextStatus(status, { generation: 3, applied }, 99_000)).toBe(status);
    const warned = nextStatus(
      status,
      { generation: 4, applied: { ...applied, message: "a warning" } },
      99_000,
    );
    expect(warned.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      Array(3).fill("1970-01-01T00:00:00Z"),
    );
    expect(warned.conditions[2]!.message).toBe("a warning");
  });
});

test("what changes while a request is on its way is sent after it", async () => {
  const hub = new ModelHub();
  hub.delayMs = () => 1_000;
  const sync = new ObjectSync({ hub, onOutcome: () => undefined, random: () => 0, log: () => undefined });
  const objectOf = (generation: number): ClusterObject => ({
    kind: "SvcAlert",
    metadata: { name: "o", namespace: "a", uid: "u", generation },
    spec: { generation },
  });
  sync.changed(objectOf(1));
  await vi.advanceTimersByTimeAsync(500);
  sync.changed(objectOf(2));
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...hub.objects.values()]).toEqual([{ generation: 2 }]);
  sync.changed(objectOf(3));
  await vi.advanceTimersByTimeAsync(500);
  sync.deleted({ kind: "SvcAlert", namespace: "a", name: "o" });
  await vi.advanceTimersByTimeAsync(5_000);
  expect([...hub.objects.values()]).toEqual([]);
  await closed(sync);
});
