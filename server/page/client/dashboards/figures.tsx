/** Widgets that show one value of each series: the newest. */

import { type ChartSeries, colourOfSeries } from "../charts/chart-series.ts";
import { formatValue } from "../charts/format-value.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import type { WidgetContent } from "./answers.ts";
import type { WidgetSeries } from "./queries.ts";

interface FigureProps {
  series: readonly ChartSeries[];
  content: WidgetContent;
}

const shownMax = 50;

function newestOf({ points }: ChartSeries): number | null {
  return points.findLast(([, value]) => value !== null)?.[1] ?? null;
}

/** A value large, with its course below. */
export function Stat({ found, content }: { found: WidgetSeries; content: WidgetContent }) {
  const { series, scope, bucketMs } = found;
  const shown = series.slice(0, shownMax);
  return (
    <div class="stats">
      {shown.map((each, i) => (
        <div key={i} class="stat">
          {series.length > 1 ? <bdi class="hint">{each.name.slice(0, 100)}</bdi> : null}
          <strong>
            {formatValue(newestOf(each))}
            {content.unit === undefined ? null : <small> {content.unit}</small>}
          </strong>
          {series.length === 1 ? (
            <TimeChart
              label={content.title ?? each.name}
              kind="area"
              series={[each]}
              startMs={scope.startTime}
              endMs={scope.endTime}
              bucketMs={bucketMs}
              height="fill"
              hasLegend={false}
            />
          ) : null}
        </div>
      ))}
    </div>
  );
}

/** The ends of a scale: those of the widget, or from zero to the greatest value. */
function scaleOf({ series, content }: FigureProps) {
  const values = series.map((each) => newestOf(each) ?? 0);
  const least = content.min ?? Math.min(0, ...values);
  const greatest = content.max ?? Math.max(...values);
  const share = (value: number) =>
    greatest > least ? Math.min(1, Math.max(0, (value - least) / (greatest - least))) : 0;
  return { least, greatest, share };
}

const radius = 40;
/** Length of the half circle. */
const arc = Math.PI * radius;

export function Gauge({ series, content }: FigureProps) {
  const { least, greatest, share } = scaleOf({ series, content });
  return (
    <div class="gauges">
      {series.slice(0, shownMax).map((each, i) => {
        const value = newestOf(each);
        const text = formatValue(value);
        return (
          <figure key={i} class="gauge">
            <svg
              viewBox="0 0 100 60"
              role="img"
              aria-label={`${each.name}: ${text}, from ${formatValue(least)} to ${formatValue(greatest)}`}
            >
              <path d="M10 50 A40 40 0 0 1 90 50" class="gauge-scale" />
              <path
                d="M10 50 A40 40 0 0 1 90 50"
                class="gauge-value"
                stroke-dasharray={`${arc * share(value ?? 0)} ${arc * 2}`}
              />
              <text x="50" y="48" text-anchor="middle">
                {text}
              </text>
            </svg>
            {series.length > 1 ? <bdi class="hint">{each.name.slice(0, 60)}</bdi> : null}
          </figure>
        );
      })}
    </div>
  );
}

export function BarGauge({ series, content }: FigureProps) {
  const { share } = scaleOf({ series, content });
  return (
    <ul class="bar-gauges">
      {series.slice(0, shownMax).map((each, i) => {
        const value = newestOf(each);
        return (
          <li key={i}>
            <bdi>{each.name.slice(0, 100)}</bdi>
            <span class="bar-gauge">
              <span style={{ width: `${100 * share(value ?? 0)}%`, background: colourOfSeries(each, i) }} />
            </span>
            <span class="number">{formatValue(value)}</span>
          </li>
        );
      })}
    </ul>
  );
}

export function Pie({ series, label }: { series: readonly ChartSeries[]; label: string }) {
  const parts = series.map((each, i) => {
    const sum = each.points.reduce((total, [, value]) => total + Math.max(0, value ?? 0), 0);
    return { name: each.name, sum, colour: colourOfSeries(each, i) };
  });
  const total = parts.reduce((sum, part) => sum + part.sum, 0);
  if (total === 0) return <p class="hint">All values are zero.</p>;
  let from = 0;
  return (
    <div class="pie">
      <svg viewBox="-50 -50 100 100" role="img" aria-label={`Shares of ${label}`}>
        {parts.map(({ name, sum, colour }, i) => {
          const start = from;
          from += sum / total;
          return (
            <path key={i} d={slice(start, from)} fill={colour}>
              <title>{name}</title>
            </path>
          );
        })}
      </svg>
      <ul>
        {parts.slice(0, shownMax).map(({ name, sum, colour }, i) => (
          <li key={i}>
            <span class="swatch" style={{ background: colour }} /> <bdi>{name.slice(0, 100)}</bdi>{" "}
            <span class="hint">{((100 * sum) / total).toFixed(1)} %</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A slice of a circle of radius 48, from one share of it to another. */
function slice(from: number, to: number): string {
  const at = (share: number) => {
    const angle = 2 * Math.PI * share - Math.PI / 2;
    return `${(48 * Math.cos(angle)).toFixed(2)} ${(48 * Math.sin(angle)).toFixed(2)}`;
  };
  if (to - from > 0.9999) return "M0 -48 A48 48 0 1 1 -0.01 -48 Z";
  return `M0 0 L${at(from)} A48 48 0 ${to - from > 0.5 ? 1 : 0} 1 ${at(to)} Z`;
}
