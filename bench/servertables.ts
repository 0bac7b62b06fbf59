/** Tables of what is measured of svc alone. */
import type { ConcurrencyFigure } from "./concurrency.ts";
import type { Spread } from "./figures.ts";
import type { IngestFigure } from "./ingest.ts";
import type { KernelFigure } from "./kernels.ts";
import type { MixedFigure } from "./mixed.ts";
import { questionShapes } from "./question.ts";
import { formatTable, grouped, megabytes, rightColumns, shortMs } from "./table.ts";

export function ingestTable(figures: readonly IngestFigure[]): string {
  const titles = ["rows a batch", "rows/s", "batch ms", "±", "p99", "peak MB"];
  const rows = figures.map(({ name, batchRows, rowsPerSecond, batchMs, memoryBytesPeak }) => [
    name,
    grouped(batchRows),
    grouped(Math.round(rowsPerSecond)),
    ...spreadCells(batchMs),
    memoryBytesPeak === null ? "" : megabytes(memoryBytesPeak),
  ]);
  return formatTable([{ title: "rows in", align: "left" }, ...rightColumns(titles)], rows);
}

export function mixedTable({
  storedRows,
  rowsPerSecondAim,
  rowsPerSecond,
  bodyMs,
  queries,
  killed,
}: MixedFigure): string {
  const titles = ["idle ms", "±", "p99", "beside ms", "±", "p99", "×"];
  const rows = queries.map(({ kind, idleMs, mixedMs }) => [
    questionShapes[kind].name,
    ...spreadCells(idleMs),
    ...spreadCells(mixedMs),
    (mixedMs.median / idleMs.median).toFixed(2),
  ]);
  const table = formatTable(
    [{ title: "reads beside writes, over HTTP", align: "left" }, ...rightColumns(titles)],
    rows,
  );
  return [
    table,
    `${grouped(storedRows)} rows stored; ${grouped(Math.round(rowsPerSecond))} rows/s came in of ${grouped(rowsPerSecondAim)}, acknowledged after ${shortMs(bodyMs.median)} ms (p99 ${shortMs(bodyMs.p99)})\n`,
    `after kill -9: of ${grouped(killed.bodiesAcknowledged)} acknowledged bodies ${killed.bodiesLost} lost, ${killed.bodiesTorn} torn\n`,
  ].join("");
}

export function concurrencyTable(figure: ConcurrencyFigure): string {
  const titles = ["alone ms", "±", "p99", "beside ms", "±", "p99", "×"];
  const row = (name: string, alone: Spread, beside: Spread): string[] => [
    name,
    ...spreadCells(alone),
    ...spreadCells(beside),
    (beside.median / alone.median).toFixed(2),
  ];
  const rows = [
    row(`small queries of ${figure.clients} clients`, figure.aloneMs, figure.besideMs),
    row("a heavy query", figure.heavyAloneMs, figure.heavyBesideMs),
  ];
  const table = formatTable([{ title: "at once, over HTTP", align: "left" }, ...rightColumns(titles)], rows);
  const rates = [figure.queriesPerSecondAlone, figure.queriesPerSecondBeside].map((rate) =>
    grouped(Math.round(rate)),
  );
  return `${table}${rates[0]} small queries a second alone, ${rates[1]} beside the heavy one\n`;
}

export function kernelTable(figures: readonly KernelFigure[]): string {
  const rows = figures.flatMap(({ kind, subjects }) =>
    subjects.map(({ name, rowsPerSecond, bytesPerSecond, ofRead }) => [
      `${kind}: ${name}`,
      (rowsPerSecond / 1e9).toFixed(3),
      (bytesPerSecond / 1e9).toFixed(2),
      `${(ofRead * 100).toFixed(0)} %`,
    ]),
  );
  const title = `kernels, vectors of ${megabytes(figures[0]!.vectorBytes)} MB`;
  return formatTable([{ title, align: "left" }, ...rightColumns(["G rows/s", "GB/s", "of read"])], rows);
}

function spreadCells({ median, deviation, p99 }: Spread): string[] {
  return [shortMs(median), shortMs(deviation), shortMs(p99)];
}
