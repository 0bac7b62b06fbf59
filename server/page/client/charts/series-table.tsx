/** Series as a table: a line each, with its least, mean, greatest and newest value. */

import { clock } from "../time/zone.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { ChartSeries } from "./chart-series.ts";
import { formatValue } from "./format-value.ts";

const shownMax = 1_000;

export function SeriesTable({ series }: { series: readonly ChartSeries[] }) {
  const shown = series.slice(0, shownMax);
  return (
    <TableBox label="Series">
      <table>
        <thead>
          <tr>
            <th scope="col">Series</th>
            <th scope="col">Least</th>
            <th scope="col">Mean</th>
            <th scope="col">Greatest</th>
            <th scope="col">Newest</th>
            <th scope="col">At</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, points }, i) => {
            const values = points.map(([, value]) => value).filter((value) => value !== null);
            const newest = points.at(-1);
            const sum = values.reduce((total, value) => total + value, 0);
            return (
              <tr key={`${i} ${name}`}>
                <td>
                  <bdi>{name.slice(0, 300)}</bdi>
                </td>
                <td class="number">{formatValue(values.reduce((a, b) => Math.min(a, b), Infinity))}</td>
                <td class="number">{formatValue(sum / values.length)}</td>
                <td class="number">{formatValue(values.reduce((a, b) => Math.max(a, b), -Infinity))}</td>
                <td class="number">{formatValue(newest?.[1])}</td>
                <td class="time">{newest === undefined ? "" : clock.value.short(newest[0])}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {series.length > shownMax ? (
        <p class="hint">{(series.length - shownMax).toLocaleString("en")} more series are not shown.</p>
      ) : null}
    </TableBox>
  );
}
