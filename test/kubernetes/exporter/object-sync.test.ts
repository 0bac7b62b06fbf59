/** Random histories of objects and faults of the hub: in the end the hub has what the cluster's objects say. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { parseJsonBody } from "../../../server/api/json-body.ts";
import { jsonBodyBytesMax } from "../../../server/api/limits.ts";
import type { ServerRequest } from "../../../server/api/route.ts";
import {
  type AppliedObject,
  type DesiredObject,
  HubError,
  type ObjectKey,
} from "../../../server/kubernetes/exporter/hub-client.ts";
import { type Condition, nextStatus } from "../../../server/kubernetes/exporter/object-status.ts";
import { type ClusterObject, ObjectSync } from "../../../server/kubernetes/exporter/object-sync.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const keyText = ({ kind, namespace = "", name }: ObjectKey) => `${kind}/${namespace}/${name}`;
const isBad = (spec: unknown) => (spec as { isBad?: boolean }).isBad === true;

/** A hub that keeps what it is sent, and fails as it is told to. */
class ModelHub {
  readonly objects = new Map<string, unknown>();
  requests = 0;
  delayMs: () => number = () => 0;
  /** Chooses how the next request fails: not at all, before it is carried out, or after it. */
  fate: () => "none" | "before" | "after" | "refused" = () => "none";

  async apply(objects: readonly DesiredObject[]): Promise<AppliedObject[]> {
    return this.#carryOut(() =>
      objects.map(({ kind, metadata: { namespace = "", name, uid }, spec }) => {
        const key = keyText({ kind, namespace, name });
        if (!isBad(spec)) this.objects.set(key, spec);
        const reason = isBad(spec) ? "InvalidSpec" : "Synced";
        return { kind, namespace, name, uid, id: `id of ${key}`, reason, isTemporary: false, message: "" };
      }),
    );
  }

  async remove(keys: readonly ObjectKey[]): Promise<void> {
    await this.#carryOut(() => {
      for (const key of keys) this.objects.delete(keyText(key));
    });
  }

  async sweep(kind: string, kept: readonly Omit<ObjectKey, "kind">[]): Promise<number> {
    return this.#carryOut(() => {
      const names = new Set(kept.map((key) => keyText({ kind, ...key })));
      const gone = [...this.objects.keys()].filter((key) => key.startsWith(`${kind}/`) && !names.has(key));
      for (const key of gone) this.objects.delete(key);
      return gone.length;
    });
  }

  async #carryOut<T>(work: () => T): Promise<T> {
    this.requests++;
    const fate = this.fate();
    // Objects change while a request is on its way.
    await new Promise((resolve) => setTimeout(resolve, this.delayMs()));
    if (fate === "before") throw new HubError("away", 0);
    if (fate === "refused") throw new HubError("busy", 503, 1_000);
    const result = work();
    if (fate === "after") throw new HubError("the answer was lost", 0);
    return result;
  }
}

const kinds = ["SvcAlert", "SvcWebhook"];

/** Closes it; a request that is on its way is waited for. */
async function closed(sync: ObjectSync): Promise<void> {
  const closing = sync.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await closing;
}

describe("random histories", () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("SVC_SEED + %i", async (offset) => {
    const random = new Random(seed, offset);
    const hub = new ModelHub();
    hub.fate = () => random.pick(["none", "none", "before", "after", "refused"]);
    hub.delayMs = () => random.below(1_500);
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

/** A hub that looks at the body of a request as the real one does, before it looks at the objects. */
class CheckingHub extends ModelHub {
  override async apply(objects: readonly DesiredObject[]): Promise<AppliedObject[]> {
    try {
      checkBody({ objects });
    } catch (error) {
      this.requests++;
      throw error;
    }
    return super.apply(objects);
  }
}

/** Throws what the hub's client throws where the hub refuses a body. */
function checkBody(sent: unknown): void {
  const body = Buffer.from(JSON.stringify(sent));
  if (body.length > jsonBodyBytesMax) throw new HubError("the hub answered 413: the body is too long", 413);
  try {
    parseJsonBody({ headers: new Map(), body } as unknown as ServerRequest);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new HubError(`the hub answered ${error.status}: ${error.message}`, error.status);
  }
}

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
