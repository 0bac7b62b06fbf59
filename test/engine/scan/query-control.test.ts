/** Queries that must end early, and folders that must not be opened. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure, type Filter, openStore, type RowQuery, type Store } from "../../../engine/index.ts";

const everything = { signal: "logs", fromNs: 0n, toNs: 1n << 62n, limit: 10 } as const;

function matching(filter: Filter): RowQuery {
  return { ...everything, steps: [{ kind: "filter", filter }] };
}

function messageMatches(pattern: string): RowQuery {
  return matching({ kind: "matches", field: { kind: "message" }, pattern, whole: false });
}

/** Reads every message with an expression and keeps none: some hundred milliseconds for 60,000 rows. */
const slowQuery: RowQuery = {
  ...everything,
  steps: [
    { kind: "extract", extractor: { kind: "regexp", pattern: "(?P<word>[a-j]+).*(?P<last>[^ ]*)$" } },
    { kind: "filter", filter: { kind: "equals", field: { kind: "attribute", key: "word" }, value: "none" } },
  ],
};

describe("a query ends early", () => {
  let dir: string;
  let store: Store;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "svc-control-"));
    store = await openStore({ dir, threads: 2 });
    const rows = Array.from({ length: 60_000 }, (_, i) => ({
      timeNs: BigInt(i) * 1_000_000n,
      level: "info",
      message: `row ${i} of many, ${"abcdefghij".repeat(12)}`,
      attributes: { "service.name": `s${i % 7}` },
    }));
    await store.append("logs", rows);
    await store.append("logs", [{ ...rows[0]!, message: `${"a".repeat(1 << 20)}b`, attributes: {} }]);
    await store.seal();
  }, 60_000);

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  test("at its deadline", async () => {
    await expect(store.search(slowQuery, { deadlineMs: 30 })).rejects.toMatchObject({ kind: "deadline" });
  });

  test("when its caller goes away", async () => {
    const abort = new AbortController();
    const slow = store.search(slowQuery, { abort: abort.signal });
    setTimeout(() => abort.abort(), 20);
    await expect(slow).rejects.toMatchObject({ kind: "cancelled" });
    await expect(store.search(messageMatches("x"), { abort: abort.signal })).rejects.toMatchObject({
      kind: "cancelled",
    });
  });

  test("at its cap of memory and of rows", async () => {
    await expect(store.search(messageMatches("zz"), { memoryBytes: 1_000 })).rejects.toMatchObject({
      kind: "limit",
    });
    await expect(store.search(messageMatches("zz"), { scannedRows: 1_000 })).rejects.toMatchObject({
      kind: "limit",
    });
  });

  test("not at all for a pattern that hangs others, and other queries go on beside it", async () => {
    const runaway = store.search(messageMatches("(a+)+$"), { deadlineMs: 20_000 });
    const beside = await Promise.all(
      Array.from({ length: 20 }, () => store.search({ ...everything, steps: [] })),
    );
    for (const answer of beside) expect(answer.rows).toHaveLength(10);
    expect((await runaway).rows).toHaveLength(0);
  });

  test("with a reason where the pattern is not RE2", async () => {
    await expect(store.search(messageMatches("(?=x)"))).rejects.toMatchObject({ kind: "input" });
  });
});

describe("a folder is refused", () => {
  test("that has data of another format, by its number", async () => {
    const dir = mkdtempSync(join(tmpdir(), "svc-format-"));
    const json = '{"name":"svc","format":99}';
    writeFileSync(join(dir, "format"), `${json}\n${crc32(json).toString(16).padStart(8, "0")}\n`);
    await expect(openStore({ dir })).rejects.toThrow(/has data of format 99; this build reads format \d/);
    rmSync(dir, { recursive: true });
  });

  test("that another store has open, until it is closed", async () => {
    const dir = mkdtempSync(join(tmpdir(), "svc-lock-"));
    const first = await openStore({ dir, threads: 1 });
    await expect(openStore({ dir })).rejects.toThrow(/is in use by process \d+/);
    await expect(openStore({ dir })).rejects.toBeInstanceOf(Failure);
    await first.close();
    await (await openStore({ dir, threads: 1 })).close();
    rmSync(dir, { recursive: true });
  });
});
