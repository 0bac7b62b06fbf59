/** The figures of one run, and the tables that show them. */
import type { BenchDataset } from "../datasets/dataset.ts";
import { coldAim, type QuestionKind, questionKinds, questionShapes } from "../datasets/question.ts";
import type { KernelFigure } from "../kernels/figure.ts";
import type { ConcurrencyFigure } from "../load-tests/concurrency.ts";
import type { IngestFigure } from "../load-tests/ingest.ts";
import type { MixedFigure } from "../load-tests/mixed.ts";
import type { Bandwidth } from "../measure/bandwidth.ts";
import type { Machine } from "../measure/machine.ts";
import type { QueryFigure, SystemFigure } from "../runner/query-rounds.ts";
import type { SystemName } from "../systems/system.ts";
import {
  formatCount,
  formatMegabytes,
  formatMs,
  formatTable,
  makeRightColumns,
  type TableColumn,
} from "../terminal/table.ts";
import { coldMsOf, figureOf, ratioToBestPeer, warmMsOf } from "./ratio.ts";
import { formatConcurrency, formatIngest, formatKernels, formatMixed } from "./server-tables.ts";

/** All figures of one run, as they are written as JSON. */
export interface Report {
  /** ISO 8601. */
  at: string;
  machine: Machine;
  rounds: number;
  bandwidth: Bandwidth;
  sets: SetFigure[];
  /** Data sets that were loaded only to measure their size. */
  sizes: SetFigure[];
  /** Speed of appends to the library and of loads over HTTP. */
  ingest: IngestFigure[];
  mixed?: MixedFigure;
  concurrency?: ConcurrencyFigure;
  kernels: KernelFigure[];
}

export interface SetFigure {
  name: BenchDataset["name"];
  rows: number;
  /** Size of the JSON lines. */
  inputBytes: number;
  systems: SystemFigure[];
}

const titles: Readonly<Record<SystemName, string>> = {
  svc: "svc",
  "svc-before": "before",
  duckdb: "DuckDB",
  clickhouse: "ClickHouse",
  ripgrep: "ripgrep",
};
const absent = "–";

/** Formats all tables. Where `before` has a set, svc's times in it are compared. */
export function formatReport(report: Report, before?: Report): string {
  const { machine, bandwidth } = report;
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
  return [
    `${machine.cores} cores of ${machine.cpu}, ${memory}, Node ${machine.node}, ${machine.system}, revision ${machine.revision ?? "unknown"}`,
    `memory is read at ${formatGigabytes(bandwidth.oneThread)} GB/s by one thread, ${formatGigabytes(bandwidth.twoThreads)} by two; arrays of ${formatMegabytes(bandwidth.arrayBytes)} MB`,
    "",
    ...report.sets.map((set) =>
      formatSet(
        set,
        report,
        before?.sets.find(({ name }) => name === set.name),
      ),
    ),
    ...report.sizes.map((set) => `${formatSetLine(set)}, for its size alone\n\n${formatStoreTable(set)}`),
    ...(report.ingest.length === 0 ? [] : [formatIngest(report.ingest)]),
    ...(report.mixed === undefined ? [] : [formatMixed(report.mixed)]),
    ...(report.concurrency === undefined ? [] : [formatConcurrency(report.concurrency)]),
    ...(report.kernels.length === 0 ? [] : [formatKernels(report.kernels)]),
  ].join("\n");
}

function formatSet(set: SetFigure, report: Report, before: SetFigure | undefined): string {
  const parts = [
    formatSetLine(set),
    formatWarmTable(set, report.bandwidth),
    formatColdTable(set),
    formatStoreTable(set),
  ];
  if (before !== undefined) parts.push(formatGrowthTable(set, before));
  parts.push(...formatFailures(set));
  return parts.join("\n\n");
}

function formatFailures({ systems }: SetFigure): string[] {
  return systems.flatMap(({ system, queries }) =>
    queries
      .filter(({ failure }) => failure !== undefined)
      .map(({ kind, failure }) => `${titles[system]} fails to ${questionShapes[kind].name}: ${failure}`),
  );
}

function formatSetLine({ name, rows, inputBytes }: SetFigure): string {
  return `${name}: ${formatCount(rows)} rows, ${formatMegabytes(inputBytes)} MB as JSON lines`;
}

function kindsOf({ systems }: SetFigure): QuestionKind[] {
  return questionKinds.filter((kind) => systems.some((figure) => queryOf(figure, kind) !== undefined));
}

function queryOf(figure: SystemFigure | undefined, kind: QuestionKind): QueryFigure | undefined {
  return figure?.queries.find((query) => query.kind === kind);
}

function formatWarmTable(set: SetFigure, { twoThreads }: Bandwidth): string {
  const { systems } = set;
  const names = systems.flatMap(({ system }) => [titles[system], "±"]);
  const columns: TableColumn[] = [
    { title: "warm, median ms", align: "left" },
    ...makeRightColumns([...names, "× best peer", "aim", "limit"]),
  ];
  const rows = kindsOf(set).map((kind) => {
    const times = ratioToBestPeer(systems, (figure) => warmMsOf(figure, kind));
    const read = queryOf(figureOf(systems, "svc"), kind)?.bytesRead ?? null;
    return [
      questionShapes[kind].name,
      ...systems.flatMap((figure) => {
        const query = queryOf(figure, kind);
        if (query?.failure !== undefined) return ["fails", ""];
        return query === undefined
          ? [absent, ""]
          : [formatMs(query.warmMs.median), formatMs(query.warmMs.deviation)];
      }),
      times === undefined ? absent : formatRatio(times),
      `${questionShapes[kind].aim}`,
      read === null ? absent : formatMs((read / twoThreads) * 1000),
    ];
  });
  return formatTable(columns, rows);
}

function formatColdTable(set: SetFigure): string {
  const systems = set.systems.filter(({ system }) => system !== "ripgrep");
  const columns: TableColumn[] = [
    { title: "cold, median ms", align: "left" },
    ...makeRightColumns([...systems.map(({ system }) => titles[system]), "× best peer", "aim"]),
  ];
  const rows = kindsOf(set).map((kind) => {
    const cold = (figure: SystemFigure) => coldMsOf(figure, kind);
    const times = ratioToBestPeer(systems, cold);
    return [
      questionShapes[kind].name,
      ...systems.map((figure) => {
        const ms = cold(figure);
        return ms === undefined ? absent : formatMs(ms);
      }),
      times === undefined ? absent : formatRatio(times),
      formatRatio(coldAim),
    ];
  });
  return formatTable(columns, rows);
}

function formatStoreTable({ systems, inputBytes, rows }: SetFigure): string {
  const stores = systems.filter(({ system }) => system !== "ripgrep");
  const row = (
    name: string,
    cell: (figure: SystemFigure) => string,
    measureOf?: (figure: SystemFigure) => number | undefined,
  ) => {
    const times = measureOf === undefined ? undefined : ratioToBestPeer(stores, measureOf);
    return [name, ...stores.map(cell), times === undefined ? absent : formatRatio(times)];
  };
  return formatTable(
    [
      { title: "store", align: "left" },
      ...makeRightColumns([...stores.map(({ system }) => titles[system]), "× best peer"]),
    ],
    [
      row(
        "load until durable, s",
        ({ load }) => load.loadSeconds.toFixed(1),
        ({ load }) => load.loadSeconds,
      ),
      row("  rows/s", ({ load }) => formatCount(Math.round(rows / load.loadSeconds))),
      row("  MB/s", ({ load }) => formatMegabytes(inputBytes / load.loadSeconds)),
      row("  over HTTP, s", ({ load }) => load.httpSeconds?.toFixed(1) ?? absent),
      row("until merged, s more", ({ load }) => load.settleSeconds.toFixed(1)),
      row(
        "until merged, CPU µs a row",
        ({ load }) =>
          load.lifeCost === undefined ? absent : ((load.lifeCost.cpuMs * 1000) / rows).toFixed(2),
        ({ load }) => load.lifeCost?.cpuMs,
      ),
      row(
        "  bytes written a row",
        ({ load }) => (load.lifeCost === undefined ? absent : (load.lifeCost.writtenBytes / rows).toFixed(0)),
        ({ load }) => load.lifeCost?.writtenBytes,
      ),
      row(
        "on disk, MB",
        ({ load }) => formatTenthMegabytes(load.diskBytes),
        ({ load }) => load.diskBytes,
      ),
      row("  bytes a row", ({ load }) => (load.diskBytes / rows).toFixed(1)),
      row("  without indexes, MB", ({ load }) => formatTenthMegabytes(load.diskBytes - load.indexBytes)),
      row("peak memory loading, MB", ({ load }) => formatMegabytes(load.memoryBytesPeak)),
      row("peak memory querying, MB", ({ memoryBytesPeak }) => formatMegabytes(memoryBytesPeak)),
    ],
  );
}

/** Compares svc's times with those of another run, of fewer rows or of another revision. */
function formatGrowthTable(set: SetFigure, before: SetFigure): string {
  const columns = [
    { title: "svc, warm, median ms", align: "left" as const },
    ...makeRightColumns([`${formatCount(before.rows)} rows`, `${formatCount(set.rows)} rows`, "×"]),
  ];
  const rows = kindsOf(set).flatMap((kind) => {
    const [was, is] = [before, set].map(
      ({ systems }) => queryOf(figureOf(systems, "svc"), kind)?.warmMs.median,
    );
    if (was === undefined || is === undefined) return [];
    return [[questionShapes[kind].name, formatMs(was), formatMs(is), formatRatio(is / was)]];
  });
  return `${formatTable(columns, rows)}the rows grew by ${formatRatio(set.rows / before.rows)}\n`;
}

function formatRatio(times: number): string {
  return times >= 10 ? times.toFixed(0) : times.toFixed(2);
}

function formatGigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

function formatTenthMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
