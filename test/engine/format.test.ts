/** Data folders that earlier builds wrote: this build must read, search and verify them. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { type Filter, openStore, readInventory, verifyStore } from "../../engine/index.ts";
import { formatRows, sealedRows } from "../../fixtures/format/rows.ts";
import {
  formatResources,
  formatSamples,
  formatSpans,
  type GeneratedSample,
} from "../../fixtures/format/telemetry.ts";
import { runSteps } from "../query/naive.ts";

const folders = join(import.meta.dirname, "../../fixtures/format");
const versions = readdirSync(folders).filter((name) => /^v\d+$/.test(name));
const dir = mkdtempSync(join(tmpdir(), "svc-format-"));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Decompresses a fixture folder into the temporary folder. */
function unpack(version: string): string {
  const target = join(dir, version);
  for (const entry of readdirSync(join(folders, version), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const unpacked = join(target, path.slice(join(folders, version).length + 1).replace(/\.zst$/, ""));
    mkdirSync(dirname(unpacked), { recursive: true });
    writeFileSync(unpacked, zstdDecompressSync(readFileSync(path)));
  }
  return target;
}

test("there is a fixture of every format since the first", () => {
  expect(versions).toContain("v1");
});

test.each(versions)(
  "a folder of format %s has every row, and queries give what the rows give",
  async (version) => {
    const folder = unpack(version);
    expect((await verifyStore(folder)).damage).toEqual([]);
    const [logs, ...others] = await readInventory(folder);
    expect(others).toEqual([]);
    const { columns } = logs!;
    const encodings = new Set(columns.flatMap((column) => Object.keys(column.encodings)));
    const all = [
      "constant",
      "delta",
      "dictionary",
      "float",
      "hex",
      "integer",
      "template",
      "text",
      "variables",
    ];
    expect([...encodings].sort()).toEqual(all);

    const rows = formatRows();
    const store = await openStore({ dir: folder, threads: 1 });
    try {
      expect(store.stats()).toMatchObject({
        rows: rows.length,
        unsealedRows: rows.length - sealedRows,
        damage: [],
      });
      const search = (filter: Filter) =>
        store.search({
          signal: "logs",
          fromNs: 0n,
          toNs: 2n ** 62n,
          steps: [{ kind: "filter", filter }],
          limit: 10_000,
        });
      const found = await search({ kind: "always" });
      const stored = found.rows.map(({ timeNs, level, message, attributes }) => ({
        timeNs,
        level,
        message,
        attributes: { ...attributes },
      }));
      expect(stored.reverse()).toEqual(rows);
      for (const filter of filters) {
        const wanted = runSteps([{ kind: "filter", filter }], rows).map(({ message }) => message);
        const messages = (await search(filter)).rows.map(({ message }) => message);
        expect(messages.reverse(), JSON.stringify(filter)).toEqual(wanted);
        expect(wanted.length, JSON.stringify(filter)).toBeGreaterThan(0);
      }
      const ids = new Set(rows.map(({ attributes }) => attributes.trace_id));
      const { groups } = await store.aggregate({
        signal: "logs",
        fromNs: 0n,
        toNs: 2n ** 62n,
        steps: [],
        groupBy: [{ kind: "attribute", key: "trace_id" }],
        aggregates: [{ op: "count" }],
      });
      expect(groups).toBe(ids.size);
    } finally {
      await store.close();
    }
  },
);

const signalVersions = readdirSync(folders).filter((name) => /^signals-v\d+$/.test(name));

test("there is a fixture of the other signals since their first format", () => {
  expect(signalVersions).toContain("signals-v1");
});

test.each(signalVersions)("the folder %s has every span, resource and sample", async (version) => {
  const folder = unpack(version);
  expect((await verifyStore(folder)).damage).toEqual([]);
  const store = await openStore({ dir: folder, threads: 1 });
  const all = { fromNs: 0n, toNs: 2n ** 62n, steps: [] };
  try {
    for (const [signal, rows] of [
      ["traces", formatSpans()],
      ["kubernetes_resources", formatResources()],
    ] as const) {
      const found = await store.search({ signal, ...all, limit: 10_000 });
      const stored = found.rows.map(({ timeNs, level, message, attributes }) => ({
        timeNs,
        level,
        message,
        attributes: { ...attributes },
      }));
      expect(stored.reverse()).toEqual(rows);
    }
    const { sealed, unsealed } = formatSamples();
    const samples = [...sealed, ...unsealed];
    for (const name of new Set(samples.map((sample) => sample.name))) {
      for (const op of ["max", "min"] as const) {
        // Each sample has a bucket of its own, so that each value comes back unchanged.
        const query = { ...all, name, bucketNs: 60_000_000_000n, of: "declared", aggregate: { op } } as const;
        const { points } = await store.aggregateSamples({ ...query, groupBy: { without: [] } });
        expect(points.values[0]!.toSorted(), name).toEqual(naiveValues(samples, name));
      }
    }
  } finally {
    await store.close();
  }
});

/** The expected value of each series in each minute: its sample, or a counter's increase. */
function naiveValues(samples: readonly GeneratedSample[], name: string): Float64Array {
  const values: number[] = [];
  const lastValues = new Map<string, number>();
  for (const { name: own, type, labels, value } of samples) {
    if (own !== name || Number.isNaN(value)) continue;
    const key = JSON.stringify(labels);
    const last = lastValues.get(key);
    lastValues.set(key, value);
    if (type === "gauge" || type === "delta") values.push(value);
    else if (last !== undefined) values.push(value < last ? value : value - last);
  }
  return Float64Array.from(values).sort();
}

const message = { kind: "message" } as const;
const filters: Filter[] = [
  ...[
    "took 7.5 ms",
    "u7919 ended",
    "order-0000",
    "überschritten: Ünï4,",
    "long long",
    "99999",
    " opened v1.5.2",
    "a",
  ].map((text): Filter => ({ kind: "contains", field: message, text, ignoreCase: false })),
  { kind: "contains", field: message, text: "queue DEPTH 7".toLowerCase(), ignoreCase: true },
  { kind: "matches", field: message, pattern: "closed$|status=20[01]", whole: false },
  {
    kind: "equals",
    field: { kind: "attribute", key: "trace_id" },
    value: formatRows()[9]!.attributes.trace_id!,
  },
  { kind: "equals", field: { kind: "attribute", key: "rare.2895" }, value: "value 2895" },
  { kind: "compares", field: { kind: "attribute", key: "ratio" }, op: ">", number: 120 },
  { kind: "equals", field: { kind: "level" }, value: "error" },
];
