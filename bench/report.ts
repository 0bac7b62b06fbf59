import type { LogOptions } from "../fixtures/logs.ts";
import type { LoadFigure, QueryFigure, StoreFigure } from "./figures.ts";
import type { Machine } from "./machine.ts";
import { formatTable, grouped, megabytes, shortMs } from "./table.ts";

/** All that one run found; kept as JSON. */
export interface Report {
  /** ISO 8601. */
  at: string;
  machine: Machine;
  workload: LogOptions;
  loads: LoadFigure[];
  store: StoreFigure;
  queries: QueryFigure[];
}

export function formatReport(report: Report): string {
  const { machine, workload, store } = report;
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
  return [
    `${machine.cores} cores of ${machine.cpu}, ${memory}, Node ${machine.node}, ${machine.system}, revision ${machine.revision ?? "unknown"}`,
    `profile ${workload.profile}, seed ${workload.seed}, ${grouped(workload.rows)} rows, ${megabytes(store.inputBytes)} MB as JSON lines`,
    "",
    loadTable(report.loads),
    queryTable(report.queries),
    storeLines(store),
  ].join("\n");
}

function loadTable(loads: readonly LoadFigure[]): string {
  const columns = [
    { title: "rows in", align: "left" },
    { title: "rows a batch", align: "right" },
    { title: "rows/s", align: "right" },
    { title: "MB/s", align: "right" },
    { title: "batch ms", align: "right" },
    { title: "±", align: "right" },
    { title: "p99", align: "right" },
    { title: "peak MB", align: "right" },
  ] as const;
  const rows = loads.map((load) => [
    load.name,
    grouped(load.batchRows),
    grouped(Math.round(load.rowsPerSecond)),
    load.bytesPerSecond === null ? "" : megabytes(load.bytesPerSecond),
    shortMs(load.batchMs.median),
    shortMs(load.batchMs.deviation),
    shortMs(load.batchMs.p99),
    load.memoryBytesPeak === null ? "" : megabytes(load.memoryBytesPeak),
  ]);
  return formatTable(columns, rows);
}

function queryTable(queries: readonly QueryFigure[]): string {
  const columns = [
    { title: "query", align: "left" },
    { title: "median ms", align: "right" },
    { title: "±", align: "right" },
    { title: "min", align: "right" },
    { title: "p99", align: "right" },
    { title: "runs", align: "right" },
    { title: "rows found", align: "right" },
  ] as const;
  const rows = queries.map(({ name, ms, rowsFound }) => [
    name,
    shortMs(ms.median),
    shortMs(ms.deviation),
    shortMs(ms.min),
    shortMs(ms.p99),
    grouped(ms.runs),
    grouped(rowsFound),
  ]);
  return formatTable(columns, rows);
}

function storeLines(store: StoreFigure): string {
  return [
    `loaded in ${store.loadSeconds.toFixed(1)} s and sealed in another ${store.sealSeconds.toFixed(1)} s: ${grouped(store.chunks)} chunks, ${megabytes(store.diskBytes)} MB on disk`,
    `peak memory of the process: ${megabytes(store.memoryBytesAfterLoad)} MB after loading, ${megabytes(store.memoryBytesAfterQueries)} MB after the queries`,
    "",
  ].join("\n");
}
