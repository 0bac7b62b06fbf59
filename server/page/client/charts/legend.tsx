/** The series of a chart with their values; a click hides all others, or shows them again. */

import { clock } from "../time/zone.ts";
import { type ChartColumns, type ChartSeries, colourOfSeries } from "./chart-series.ts";
import { formatValue } from "./format-value.ts";

interface LegendProps {
  label: string;
  series: readonly ChartSeries[];
  columns: ChartColumns;
  /** The bucket under the pointer. */
  pointed: number | undefined;
  hidden: ReadonlySet<string>;
  onHide(hidden: ReadonlySet<string>): void;
  /** Series that are not drawn. */
  left: number;
}

export function Legend({ label, series, columns, pointed, hidden, onHide, left }: LegendProps) {
  const at = pointed === undefined ? undefined : columns.timesMs[pointed];
  const names = series.map(({ name }) => name);
  const click = (name: string, isAdding: boolean) => {
    if (isAdding) {
      const next = new Set(hidden);
      if (!next.delete(name)) next.add(name);
      return onHide(next);
    }
    const isAlone = !hidden.has(name) && hidden.size === names.length - 1;
    onHide(isAlone ? new Set() : new Set(names.filter((each) => each !== name)));
  };
  return (
    <figcaption class="legend">
      <span class="legend-time">{at === undefined ? "Latest values" : clock.value.short(at)}</span>
      <ul aria-label={`Series of ${label}`}>
        {series.map((each, i) => (
          <li key={`${i} ${each.name}`}>
            <button
              type="button"
              class="quiet"
              aria-pressed={!hidden.has(each.name)}
              title={`${each.name}\nA click shows it alone, Ctrl and a click hides it`}
              onClick={(event) => click(each.name, event.ctrlKey || event.metaKey)}
            >
              <span class="swatch" style={{ background: colourOfSeries(each, i) }} />
              <bdi class="legend-name">{each.name.slice(0, 200)}</bdi>
              <span class="legend-value">{formatValue(valueAt(columns.values[i]!, pointed))}</span>
            </button>
          </li>
        ))}
      </ul>
      {left === 0 ? null : <p class="hint">{left.toLocaleString("en")} more series are not drawn.</p>}
    </figcaption>
  );
}

/** The value under the pointer, or the newest one. */
function valueAt(values: readonly (number | null)[], pointed: number | undefined): number | null {
  if (pointed !== undefined) return values[pointed] ?? null;
  return values.findLast((value) => value !== null) ?? null;
}
