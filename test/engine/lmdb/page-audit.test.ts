import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../../engine/failure.ts";
import { isIntactFrame } from "../../../engine/files/frame.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";
import { auditPageTree } from "../../../engine/lmdb/page-audit.ts";
import { scaled } from "../../durability/campaign.ts";
import {
  anyDamage,
  anyShape,
  buildEnvironment,
  copyEnvironment,
  damageFile,
  keyOf,
} from "./random-environment.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-pagetree-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function emptyPath(name: string): string {
  const path = join(dir, name);
  rmSync(path, { recursive: true, force: true });
  return path;
}

describe("a sound file", () => {
  test("passes the audit after every commit, with the entries that were written", async () => {
    await fc.assert(
      fc.asyncProperty(anyShape, async (shape) => {
        const path = emptyPath("sound");
        await buildEnvironment(path, shape, (stored) => {
          const report = auditPageTree(join(path, "data.mdb"));
          expect(report.problems).toEqual([]);
          expect(report.entries.map(({ key }) => Buffer.from(key).toString("hex"))).toEqual(
            [...stored.keys()].sort(),
          );
          const lengths = report.entries.map(({ key, length }) => [Buffer.from(key).toString("hex"), length]);
          for (const [key, length] of lengths) expect(stored.get(String(key))?.length).toBe(length);
        });
      }),
      { numRuns: scaled(12, 400) },
    );
  });

  test("has the same values through LMDB itself", async () => {
    const shape = fc.sample(anyShape, 20).sort((a, b) => size(b) - size(a))[0]!;
    const stored = await buildEnvironment(emptyPath("native"), shape);
    const script = `import { open } from "lmdb";
      const database = open({ path: process.argv[1], noSubdir: false, keyEncoding: "binary", encoding: "binary" });
      const values = [...database.getKeys()].map((key) => [key.toString("hex"), database.getBinary(key).toString("hex")]);
      console.log(JSON.stringify(values));`;
    const output = execFileSync(
      process.execPath,
      ["--input-type=module", "-e", script, join(dir, "native")],
      {
        cwd: join(import.meta.dirname, "../../.."),
        maxBuffer: 2 ** 28,
      },
    );
    const native = new Map<string, string>(JSON.parse(output.toString()));
    expect(native).toEqual(new Map([...stored].map(([key, frame]) => [key, frame.toString("hex")])));
  });

  test("passes the audit at every moment while another process commits", async () => {
    const path = emptyPath("busy");
    await openEnvironment(path, { readOnly: false }).close();
    const script = `import { openEnvironment } from ${JSON.stringify(join(import.meta.dirname, "../../../engine/lmdb/environment.ts"))};
      const environment = openEnvironment(process.argv[1], { readOnly: false });
      for (let i = 0; i < 400; i++) await environment.write((to) => {
        for (let j = 0; j < 20; j++) to.put(Buffer.from("key" + ((i * 7 + j) % 300)), Buffer.alloc((i * j * 37) % 9000, i));
        for (let j = 0; j < 9; j++) to.remove(Buffer.from("key" + ((i * 11 + j) % 300)));
      });
      await environment.close();`;
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, path], { stdio: "inherit" });
    let ended: number | null | undefined;
    child.on("exit", (code) => {
      ended = code;
    });
    let audits = 0;
    while (ended === undefined) {
      const report = auditPageTree(join(path, "data.mdb"));
      expect(report.problems).toEqual([]);
      audits++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(ended).toBe(0);
    expect(audits).toBeGreaterThan(10);
  });
});

function size(shape: { transactions: unknown[][] }): number {
  return shape.transactions.flat().length;
}

describe("a damaged file", () => {
  test("is read without a crash, and gives the right frames or none", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyShape,
        fc.array(fc.array(anyDamage, { minLength: 1, maxLength: 3 }), { minLength: 60, maxLength: 60 }),
        async (shape, cases) => {
          const whole = emptyPath("whole");
          const stored = await buildEnvironment(whole, shape);
          for (const damages of cases) {
            const path = emptyPath("damaged");
            const file = copyEnvironment(whole, path);
            damageFile(file, damages);
            auditPageTree(file);
            await readEverything(path, stored);
          }
        },
      ),
      { numRuns: scaled(8, 200) },
    );
  });

  test.each([
    ["is missing", () => undefined, /missing/],
    ["is empty", (file: string) => truncateSync(file, 0), /ends inside/],
    ["ends in its second page", (file: string) => truncateSync(file, 5_000), /file ends/],
    ["is something else", (file: string) => writeFileSync(file, "x".repeat(20_000)), /page size/],
  ])("that %s is reported", async (_what, damage, problem) => {
    const path = emptyPath("odd");
    await buildEnvironment(path, { keyBytes: 3, transactions: [[{ key: 1, bytes: 10_000 }]] });
    const file = join(path, "data.mdb");
    if (_what === "is missing") rmSync(file);
    else damage(file);
    const report = auditPageTree(file);
    expect(report.ok).toBe(false);
    expect(report.problems[0]).toMatch(problem);
    if (_what !== "is missing" && _what !== "is empty") {
      expect(() => openEnvironment(path, { readOnly: false })).toThrow(Failure);
    }
  });

  test("cut by one page is reported, whatever page was last", async () => {
    const path = emptyPath("cut");
    const shape = { keyBytes: 3, transactions: [1, 2, 3].map((key) => [{ key, bytes: 9_000 }]) };
    await buildEnvironment(path, shape);
    const entries = auditPageTree(join(path, "data.mdb")).entries;
    const end = Math.max(...entries.map(({ offset, length }) => offset + length));
    truncateSync(join(path, "data.mdb"), end - 1);
    expect(auditPageTree(join(path, "data.mdb")).ok).toBe(false);
    expect(keyOf(shape, 1).length).toBe(3);
  });
});

/**
 * Every lookup gives the frame that was written, a Failure, nothing, or bytes whose checksum reveals that they are
 * wrong.
 */
async function readEverything(path: string, stored: ReadonlyMap<string, Buffer>): Promise<void> {
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      expect(error).toBeInstanceOf(Failure);
      expect((error as Failure).kind).toBe("damage");
      return undefined;
    }
  };
  const environment = attempt(() => openEnvironment(path, { readOnly: true }));
  if (environment === undefined) return;
  attempt(() => environment.keys());
  for (const [key, frame] of stored) {
    const got = attempt(() => environment.get(Buffer.from(key, "hex")));
    if (got === undefined || frame.equals(got)) continue;
    const isAnother = isIntactFrame(got) && Buffer.from(got).readUInt32LE(4) !== frame.readUInt32LE(4);
    expect(isAnother || !isIntactFrame(got)).toBe(true);
  }
  await environment.close();
}
