/** Tables of what is measured of svc without peers. */

import { questionShapes } from "../datasets/question.ts";
import type { KernelFigure } from "../kernels/figure.ts";
import type { ConcurrencyFigure } from "../load-tests/concurrency.ts";
import type { IngestFigure } from "../load-tests/ingest.ts";
import type { MixedFigure } from "../load-tests/mixed.ts";
import type { Spread } from "../measure/spread.ts";
import { formatCount, formatMegabytes, formatMs, formatTable, makeRightColumns } from "../terminal/table.ts";

export function formatIngest(figures: readonly IngestFigure[]): string {
  const titles = ["rows a batch", "rows/s", "batch ms", "±", "p99", "peak MB"];
  const rows = figures.map(({ name, batchRows, rowsPerSecond, batchMs, memoryBytesPeak }) => [
    name,
    formatCount(batchRows),
    formatCount(Math.round(rowsPerSecond)),
    ...formatSpread(batchMs),
    memoryBytesPeak === null ? "" : formatMegabytes(memoryBytesPeak),
  ]);
  return formatTable([{ title: "rows in", align: "left" }, ...makeRightColumns(titles)], rows);
}

export function formatMixed({
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
    ...formatSpread(idleMs),
    ...formatSpread(mixedMs),
    (mixedMs.median / idleMs.median).toFixed(2),
  ]);
  const table = formatTable(
    [{ title: "reads beside writes, over HTTP", align: "left" }, ...makeRightColumns(titles)],
    rows,
  );
  return [
    table,
    `${formatCount(storedRows)} rows stored; ${formatCount(Math.round(rowsPerSecond))} rows/s came in of ${formatCount(rowsPerSecondAim)}, acknowledged after ${formatMs(bodyMs.median)} ms (p99 ${formatMs(bodyMs.p99)})\n`,
    `after kill -9: of ${formatCount(killed.bodiesAcknowledged)} acknowledged bodies ${killed.bodiesLost} lost, ${killed.bodiesTorn} torn\n`,
  ].join("");
}

export function formatConcurrency(figure: ConcurrencyFigure): string {
  const titles = ["alone ms", "±", "p99", "beside ms", "±", "p99", "×"];
  const row = (name: string, alone: Spread, beside: Spread): string[] => [
    name,
    ...formatSpread(alone),
    ...formatSpread(beside),
    (beside.median / alone.median).toFixed(2),
  ];
  const rows = [
    row(`small queries of ${figure.clients} clients`, figure.aloneMs, figure.besideMs),
    row("a heavy query", figure.heavyAloneMs, figure.heavyBesideMs),
  ];
  const table = formatTable(
    [{ title: "at once, over HTTP", align: "left" }, ...makeRightColumns(titles)],
    rows,
  );
  const rates = [figure.queriesPerSecondAlone, figure.queriesPerSecondBeside].map((rate) =>
    formatCount(Math.round(rate)),
  );
  return `${table}${rates[0]} small queries a second alone, ${rates[1]} beside the heavy one\n`;
}

export function formatKernels(figures: readonly KernelFigure[]): string {
  const rows = figures.flatMap(({ kind, subjects }) =>
    subjects.map(({ name, rowsPerSecond, bytesPerSecond, ofRead }) => [
      `${kind}: ${name}`,
      (rowsPerSecond / 1e9).toFixed(3),
      (bytesPerSecond / 1e9).toFixed(2),
      `${(ofRead * 100).toFixed(0)} %`,
    ]),
  );
  const title = `kernels, vectors of ${formatMegabytes(figures[0]!.vectorBytes)} MB`;
  return formatTable([{ title, align: "left" }, ...makeRightColumns(["G rows/s", "GB/s", "of read"])], rows);
}

function formatSpread({ median, deviation, p99 }: Spread): string[] {
  return [formatMs(median), formatMs(deviation), formatMs(p99)];
}
