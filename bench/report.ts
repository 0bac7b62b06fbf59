import type { Bandwidth } from "./bandwidth.ts";
import type { ConcurrencyFigure } from "./concurrency.ts";
import type { Dataset } from "./dataset.ts";
import type { IngestFigure } from "./ingest.ts";
import type { KernelFigure } from "./kernels.ts";
import type { Machine } from "./machine.ts";
import type { MixedFigure } from "./mixed.ts";
import type { QueryFigure, SystemFigure } from "./queries.ts";
import { type QuestionKind, questionKinds, questionShapes } from "./question.ts";
import { figureOf, timesBetter, warmMs } from "./ratio.ts";
import { concurrencyTable, ingestTable, kernelTable, mixedTable } from "./servertables.ts";
import type { SystemName } from "./system.ts";
import { type Column, formatTable, grouped, megabytes, rightColumns, shortMs } from "./table.ts";

/** All that one run found; kept as JSON. */
export interface Report {
  /** ISO 8601. */
  at: string;
  machine: Machine;
  rounds: number;
  bandwidth: Bandwidth;
  sets: SetFigure[];
  /** Data sets that were loaded for their size alone. */
  sizes: SetFigure[];
  /** Ways into svc, of rows in memory and over HTTP. */
  ingest: IngestFigure[];
  mixed?: MixedFigure;
  concurrency?: ConcurrencyFigure;
  kernels: KernelFigure[];
}

export interface SetFigure {
  name: Dataset["name"];
  rows: number;
  /** As JSON lines. */
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
const none = "–";

/** Tables for people; `before` are the figures of another run, whose times are set beside. */
export function formatReport(report: Report, before?: Report): string {
  const { machine, bandwidth } = report;
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
  return [
    `${machine.cores} cores of ${machine.cpu}, ${memory}, Node ${machine.node}, ${machine.system}, revision ${machine.revision ?? "unknown"}`,
    `memory is read at ${gigabytes(bandwidth.oneThread)} GB/s by one thread, ${gigabytes(bandwidth.twoThreads)} by two; arrays of ${megabytes(bandwidth.arrayBytes)} MB`,
    "",
    ...report.sets.map((set) =>
      formatSet(
        set,
        report,
        before?.sets.find(({ name }) => name === set.name),
      ),
    ),
    ...report.sizes.map((set) => `${setLine(set)}, for its size alone\n\n${storeTable(set)}`),
    ...(report.ingest.length === 0 ? [] : [ingestTable(report.ingest)]),
    ...(report.mixed === undefined ? [] : [mixedTable(report.mixed)]),
    ...(report.concurrency === undefined ? [] : [concurrencyTable(report.concurrency)]),
    ...(report.kernels.length === 0 ? [] : [kernelTable(report.kernels)]),
  ].join("\n");
}

function formatSet(set: SetFigure, report: Report, before: SetFigure | undefined): string {
  const parts = [setLine(set), queryTable(set, report.bandwidth), coldTable(set), storeTable(set)];
  if (before !== undefined) parts.push(growthTable(set, before));
  parts.push(...failures(set));
  return parts.join("\n\n");
}

function failures({ systems }: SetFigure): string[] {
  return systems.flatMap(({ system, queries }) =>
    queries
      .filter(({ failure }) => failure !== undefined)
      .map(({ kind, failure }) => `${titles[system]} fails to ${questionShapes[kind].name}: ${failure}`),
  );
}

function setLine({ name, rows, inputBytes }: SetFigure): string {
  return `${name}: ${grouped(rows)} rows, ${megabytes(inputBytes)} MB as JSON lines`;
}

function kindsOf({ systems }: SetFigure): QuestionKind[] {
  return questionKinds.filter((kind) => systems.some((figure) => queryOf(figure, kind) !== undefined));
}

function queryOf(figure: SystemFigure | undefined, kind: QuestionKind): QueryFigure | undefined {
  return figure?.queries.find((query) => query.kind === kind);
}

function queryTable(set: SetFigure, { twoThreads }: Bandwidth): string {
  const { systems } = set;
  const names = systems.flatMap(({ system }) => [titles[system], "±"]);
  const columns: Column[] = [
    { title: "warm, median ms", align: "left" },
    ...rightColumns([...names, "× best peer", "aim", "limit"]),
  ];
  const rows = kindsOf(set).map((kind) => {
    const times = timesBetter(systems, (figure) => warmMs(figure, kind));
    const read = queryOf(figureOf(systems, "svc"), kind)?.bytesRead ?? null;
    return [
      questionShapes[kind].name,
      ...systems.flatMap((figure) => {
        const query = queryOf(figure, kind);
        if (query?.failure !== undefined) return ["fails", ""];
        return query === undefined
          ? [none, ""]
          : [shortMs(query.warmMs.median), shortMs(query.warmMs.deviation)];
      }),
      times === undefined ? none : shortTimes(times),
      `${questionShapes[kind].aim}`,
      read === null ? none : shortMs((read / twoThreads) * 1000),
    ];
  });
  return formatTable(columns, rows);
}

function coldTable(set: SetFigure): string {
  const systems = set.systems.filter(({ system }) => system !== "ripgrep");
  const columns: Column[] = [
    { title: "cold, median ms", align: "left" },
    ...rightColumns([...systems.map(({ system }) => titles[system]), "× best peer"]),
  ];
  const rows = kindsOf(set).map((kind) => {
    const cold = (figure: SystemFigure): number | undefined => {
      const ms = queryOf(figure, kind)?.coldMs;
      return ms === undefined || ms.runs === 0 ? undefined : ms.median;
    };
    const times = timesBetter(systems, cold);
    return [
      questionShapes[kind].name,
      ...systems.map((figure) => {
        const ms = cold(figure);
        return ms === undefined ? none : shortMs(ms);
      }),
      times === undefined ? none : shortTimes(times),
    ];
  });
  return formatTable(columns, rows);
}

function storeTable({ systems, inputBytes, rows }: SetFigure): string {
  const stores = systems.filter(({ system }) => system !== "ripgrep");
  const row = (
    name: string,
    cell: (figure: SystemFigure) => string,
    measureOf?: (figure: SystemFigure) => number,
  ) => {
    const times = measureOf === undefined ? undefined : timesBetter(stores, measureOf);
    return [name, ...stores.map(cell), times === undefined ? none : shortTimes(times)];
  };
  return formatTable(
    [
      { title: "store", align: "left" },
      ...rightColumns([...stores.map(({ system }) => titles[system]), "× best peer"]),
    ],
    [
      row(
        "load until durable, s",
        ({ load }) => load.loadSeconds.toFixed(1),
        ({ load }) => load.loadSeconds,
      ),
      row("  rows/s", ({ load }) => grouped(Math.round(rows / load.loadSeconds))),
      row("  MB/s", ({ load }) => megabytes(inputBytes / load.loadSeconds)),
      row("  over HTTP, s", ({ load }) => load.httpSeconds?.toFixed(1) ?? none),
      row("until merged, s more", ({ load }) => load.settleSeconds.toFixed(1)),
      row(
        "on disk, MB",
        ({ load }) => tenths(load.diskBytes),
        ({ load }) => load.diskBytes,
      ),
      row("  bytes a row", ({ load }) => (load.diskBytes / rows).toFixed(1)),
      row("  without indexes, MB", ({ load }) => tenths(load.diskBytes - load.indexBytes)),
      row("peak memory loading, MB", ({ load }) => megabytes(load.memoryBytesPeak)),
      row("peak memory querying, MB", ({ memoryBytesPeak }) => megabytes(memoryBytesPeak)),
    ],
  );
}

/** svc's times beside those of another run, with fewer rows or at another time. */
function growthTable(set: SetFigure, before: SetFigure): string {
  const columns = [
    { title: "svc, warm, median ms", align: "left" as const },
    ...rightColumns([`${grouped(before.rows)} rows`, `${grouped(set.rows)} rows`, "×"]),
  ];
  const rows = kindsOf(set).flatMap((kind) => {
    const [was, is] = [before, set].map(
      ({ systems }) => queryOf(figureOf(systems, "svc"), kind)?.warmMs.median,
    );
    if (was === undefined || is === undefined) return [];
    return [[questionShapes[kind].name, shortMs(was), shortMs(is), shortTimes(is / was)]];
  });
  return `${formatTable(columns, rows)}the rows grew by ${shortTimes(set.rows / before.rows)}\n`;
}

function shortTimes(times: number): string {
  return times >= 10 ? times.toFixed(0) : times.toFixed(2);
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

function tenths(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
