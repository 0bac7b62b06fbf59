/** The disk buffer against a model, through restarts, overflow, damage, and kills of a process that fills it. */

import { type ChildProcess, spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { OutgoingBody } from "../../../server/kubernetes/gateway/buffer-entry.ts";
import { DiskBuffer } from "../../../server/kubernetes/gateway/disk-buffer.ts";
import { Forwarder } from "../../../server/kubernetes/gateway/forwarder.ts";
import { scaled } from "../../durability/campaign.ts";
import { randomOf } from "../../server/control/random.ts";
import { type Hub, startHub } from "./hub.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-buffer-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true, force: true });
});

const makeBody = (n: number, bytes: number): OutgoingBody => ({
  ...{ path: "/v1/logs", contentType: "application/x-protobuf", contentEncoding: "identity", key: `k${n}` },
  body: Buffer.alloc(bytes, n),
});

describe(`the buffer (SVC_SEED=${seed})`, () => {
  test("is a queue that loses only its oldest bodies, counts them, and is the same after a restart", async () => {
    const random = randomOf(seed);
    for (let round = 0; round < scaled(10, 400); round++) {
      const folder = join(dir, String(round));
      const bytesMax = 2_000 + Math.floor(random() * 20_000);
      let dropped = 0;
      const open = () =>
        DiskBuffer.open({
          dir: folder,
          bytesMax,
          onDropped: (bodies) => {
            dropped += bodies;
          },
          onProblem: failed,
        });
      let buffer = await open();
      /** Numbers of the bodies that were appended and not taken. */
      const model: number[] = [];
      let n = 0;
      for (let step = 0; step < 120; step++) {
        const choice = random();
        if (choice < 0.55) {
          const many = Array.from({ length: 1 + Math.floor(random() * 3) }, () => n++);
          await Promise.all(many.map((each) => buffer.append(makeBody(each, Math.floor(random() * 800)))));
          model.push(...many);
        } else if (choice < 0.93) {
          const found = await buffer.peek();
          // Whatever was dropped was the oldest.
          model.splice(0, dropped);
          dropped = 0;
          expect(found?.key).toBe(model.length === 0 ? undefined : `k${model[0]}`);
          if (found === undefined) continue;
          expect(found.body.every((byte) => byte === model[0]! % 256)).toBe(true);
          if (random() < 0.3) {
            const after = n++;
            await buffer.append(makeBody(after, 500));
            model.push(after);
          }
          if (random() < 0.7) {
            model.shift();
            await buffer.take();
          } else buffer.leave();
        } else {
          await buffer.close();
          if (random() < 0.5) tearLastSegment(folder, random);
          buffer = await open();
        }
        expect(buffer.bytes).toBeLessThanOrEqual(bytesMax);
        expect(buffer.bodies).toBe(model.length - dropped);
      }
      await buffer.close();
    }
  });

  test("skips a damaged body and counts it", async () => {
    let dropped = 0;
    const options = {
      ...{ dir, bytesMax: 1_000_000 },
      onDropped: (bodies: number) => {
        dropped += bodies;
      },
      onProblem: failed,
    };
    const buffer = await DiskBuffer.open(options);
    for (let i = 0; i < 3; i++) await buffer.append(makeBody(i, 100));
    await buffer.close();
    const [name] = readdirSync(dir).filter((each) => each.endsWith(".segment"));
    const bytes = readFileSync(join(dir, name!));
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    writeFileSync(join(dir, name!), bytes);
    const reopened = await DiskBuffer.open(options);
    const keys: string[] = [];
    for (let body = await reopened.peek(); body !== undefined; body = await reopened.peek()) {
      keys.push(body.key);
      await reopened.take();
    }
    expect(keys).toEqual(["k0", "k2"]);
    expect(dropped).toBe(1);
    await reopened.close();
  });

  test("is emptied while the disk takes no position, and removes what was taken", async () => {
    const options = { dir, bytesMax: 40_000, onDropped: () => undefined, onProblem: failed };
    const buffer = await DiskBuffer.open(options);
    for (let i = 0; i < 20; i++) await buffer.append(makeBody(i, 1_500));
    expect(segments().length).toBeGreaterThan(1);
    const file = await open(join(dir, "position"), "r");
    const full = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, "write");
    full.mockRejectedValue(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" }));
    const { forwarder, sent } = startForwarder(buffer);
    await expect.poll(() => buffer.bodies).toBe(0);
    await forwarder.close();
    vi.restoreAllMocks();
    await file.close();
    expect(sent).toEqual(Array.from({ length: 20 }, (_, i) => `k${i}`));
    expect(segments().length).toBe(1);
    await buffer.append(makeBody(20, 10));
    await buffer.close();
    // Only of the last segment bodies come again.
    const reopened = await DiskBuffer.open(options);
    expect(reopened.bodies).toBeLessThan(10);
    await reopened.close();
  });

  test("goes on where the disk does not remove a segment, and removes it later", async () => {
    const problems: string[] = [];
    const options = {
      ...{ dir, bytesMax: 40_000, onDropped: () => undefined },
      onProblem: (problem: string) => void problems.push(problem),
    };
    const buffer = await DiskBuffer.open(options);
    for (let i = 0; i < 20; i++) await buffer.append(makeBody(i, 1_500));
    // A folder under the name of the first segment cannot be removed as a file.
    const path = join(dir, segments()[0]!);
    const aside = join(dir, "aside");
    renameSync(path, aside);
    mkdirSync(path);
    const { forwarder, sent } = startForwarder(buffer);
    await expect.poll(() => buffer.bodies).toBe(0);
    expect(problems.length).toBe(1);
    expect(problems[0]).toContain(`${path} is removed later: EISDIR`);
    // It takes no bytes of the disk meanwhile.
    expect(statSync(aside).size).toBe(0);
    rmdirSync(path);
    renameSync(aside, path);
    for (let i = 20; i < 40; i++) await buffer.append(makeBody(i, 1_500));
    await expect.poll(() => buffer.bodies).toBe(0);
    await forwarder.close();
    expect(sent).toEqual(Array.from({ length: 40 }, (_, i) => `k${i}`));
    expect([segments().length, existsSync(path), problems.length]).toEqual([1, false, 1]);
    await buffer.close();
  });

  test("takes a body though the segment that it drops for it is not removed", async () => {
    let dropped = 0;
    const buffer = await DiskBuffer.open({
      ...{ dir, bytesMax: 20_000, onProblem: () => undefined },
      onDropped: (bodies) => {
        dropped += bodies;
      },
    });
    await buffer.append(makeBody(0, 1_500));
    const path = join(dir, segments()[0]!);
    rmSync(path);
    mkdirSync(path);
    for (let i = 1; i < 20; i++) await buffer.append(makeBody(i, 1_500));
    expect(dropped).toBeGreaterThan(0);
    expect((await buffer.peek())?.key).toBe(`k${dropped}`);
    expect(buffer.bodies).toBe(20 - dropped);
    await buffer.close();
  });

  test("has the bytes of its position from the beginning", async () => {
    const buffer = await DiskBuffer.open({
      dir,
      bytesMax: 1_000,
      onDropped: () => undefined,
      onProblem: failed,
    });
    expect(statSync(join(dir, "position")).size).toBe(20);
    await buffer.close();
  });

  test("does not take a body that is larger than it, nor one that the disk does not take", async () => {
    const buffer = await DiskBuffer.open({
      dir,
      bytesMax: 1_000,
      onDropped: () => undefined,
      onProblem: failed,
    });
    await expect(buffer.append(makeBody(1, 2_000))).rejects.toThrow("larger than the buffer");
    rmSync(dir, { recursive: true });
    await expect(buffer.append(makeBody(2, 10))).rejects.toThrow("ENOENT");
    expect(buffer.bodies).toBe(0);
    await buffer.close();
  });
});

const segments = () =>
  readdirSync(dir)
    .filter((name) => name.endsWith(".segment"))
    .sort();

/** For disks that do what they are asked to. */
function failed(problem: string): never {
  throw new Error(problem);
}

/** Empties a buffer to a hub that takes everything. `sent` are the keys. */
function startForwarder(buffer: DiskBuffer): { forwarder: Forwarder; sent: string[] } {
  const sent: string[] = [];
  const forwarder = new Forwarder({
    buffer,
    send: async ({ key }) => {
      sent.push(key);
      return { kind: "taken", contentType: "", body: Buffer.alloc(0) };
    },
    ...{ onOutcome: () => undefined, random: () => 0 },
  });
  forwarder.run();
  return { forwarder, sent };
}

/** What a kill in the middle of a write leaves: the beginning of an entry. */
function tearLastSegment(folder: string, random: () => number): void {
  const name = readdirSync(folder)
    .filter((each) => each.endsWith(".segment"))
    .sort()
    .at(-1);
  if (name === undefined) return;
  const path = join(folder, name);
  const begin = readFileSync(path).subarray(0, Math.floor(random() * 60));
  appendFileSync(path, random() < 0.5 ? begin : Buffer.alloc(30, 7));
}

describe("a gateway that is killed", () => {
  let hub: Hub;
  let child: ChildProcess;
  beforeEach(async () => {
    hub = await startHub();
  });
  afterEach(async () => {
    child.kill("SIGKILL");
    await hub.close();
  });

  /** Starts the process; resolves to the address of its listener. */
  async function startChild(): Promise<string> {
    const script = join(import.meta.dirname, "gateway-process.ts");
    child = spawn(process.execPath, [script, dir, hub.url.href], { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: child.stdout! })) return line;
    throw new Error("the process ended before it listened");
  }

  test(`loses nothing that it acknowledged, and the hub has nothing twice (SVC_SEED=${seed})`, async () => {
    const random = randomOf(seed);
    const acknowledged: string[] = [];
    let n = 0;
    const deeds = [200, 200, 503, 429, 500, "hang", "cut", "lost"] as const;
    hub.deed = ({ body }) => {
      if (body.includes("bad")) return 400;
      return deeds[Math.floor(random() * deeds.length)]!;
    };
    for (let kill = 0; kill < scaled(2, 60); kill++) {
      const url = await startChild();
      const sendAll = async () => {
        for (;;) {
          const text = `body ${n++}${random() < 0.05 ? " bad" : ""}`;
          const sent = await fetch(`${url}/v1/logs`, {
            ...{ method: "POST", body: oneLog(text) },
            headers: { "Content-Type": "application/x-protobuf" },
          }).catch(() => undefined);
          if (sent === undefined) return;
          if (sent.status === 200 && !text.includes("bad")) acknowledged.push(text);
        }
      };
      const sending = [sendAll(), sendAll(), sendAll()];
      await new Promise((resolve) => setTimeout(resolve, 300 + random() * 500));
      child.kill("SIGKILL");
      await Promise.all(sending);
    }
    hub.deed = ({ body }) => (body.includes("bad") ? 400 : 200);
    await startChild();
    const taken = () => new Set(Array.from(hub.taken.values(), ({ body }) => textIn(body)));
    await expect
      .poll(() => acknowledged.filter((text) => !taken().has(text)), { timeout: 30_000, interval: 100 })
      .toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(10);
    // Each text was sent once, so two keys with one text would be two rows.
    expect(hub.taken.size).toBe(taken().size);
  }, 600_000);
});

const field = (tag: number, content: Uint8Array) =>
  Buffer.concat([Uint8Array.of(tag, content.length), content]);

/** A request with one record, whose texts stay below 100 bytes. */
function oneLog(text: string): Buffer<ArrayBuffer> {
  const record = field(0x12, field(0x2a, field(0x0a, Buffer.from(text))));
  return field(0x0a, field(0x12, record)) as Buffer<ArrayBuffer>;
}

function textIn(body: Buffer): string {
  return /body \d+( bad)?/.exec(body.toString("latin1"))![0];
}
