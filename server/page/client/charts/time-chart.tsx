/** A chart of series over time: lines, areas or bars, with thresholds and marks. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { loadChunk } from "../api/chunk.ts";
import { shade } from "../browser/theme.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { type ChartKind, type ChartLine, type ChartMark, chartOptions } from "./chart-options.ts";
import { type ChartSeries, columnsOf, stack } from "./chart-series.ts";
import { Legend } from "./legend.tsx";

export interface TimeChartProps {
  /** What the chart shows, for those who cannot see it. */
  label: string;
  series: readonly ChartSeries[];
  /** Unix milliseconds of both ends of the axis. */
  startMs: number;
  endMs: number;
  bucketMs: number;
  kind: ChartKind;
  isStacked?: boolean;
  /** Ends of the axis of values where those of the points do not serve. */
  min?: number;
  max?: number;
  lines?: readonly ChartLine[];
  marks?: readonly ChartMark[];
  /** Pixels of the drawing, 220 where absent; "fill" for a box that has a height of its own. */
  height?: number | "fill";
  hasLegend?: boolean;
  /** Called with a range of time that was dragged over, in Unix milliseconds. */
  onBrush?(startMs: number, endMs: number): void;
}

/** More series than this are not drawn: nobody could tell them apart. */
const drawnMax = 200;
const chartHeight = 220;
const heightMin = 80;

export function TimeChart(props: TimeChartProps) {
  const { label, series, startMs, endMs, bucketMs, kind, lines = [], marks = [] } = props;
  const { height = chartHeight, hasLegend = true, isStacked = false, min, max } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const Plot = usePlot();
  const [pointed, setPointed] = useState<number | undefined>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const onBrush = useRef(props.onBrush);
  onBrush.current = props.onBrush;

  const drawn = useMemo(() => series.slice(0, drawnMax), [series]);
  const columns = useMemo(() => columnsOf(drawn, bucketMs), [drawn, bucketMs]);
  const visible = useMemo(
    () => drawn.map(({ name }, i) => ({ i, name })).filter(({ name }) => !hidden.has(name)),
    [drawn, hidden],
  );

  useLayoutEffect(() => {
    if (Plot === undefined) return;
    const element = box.current!;
    const values = visible.map(({ i }) => columns.values[i]!);
    const options = chartOptions({
      ...{ kind, startMs, endMs, bucketMs, lines, marks, min, max, isStacked },
      series: visible.map(({ i }) => ({ series: drawn[i]!, index: i })),
      width: element.clientWidth,
      height: height === "fill" ? Math.max(heightMin, element.clientHeight) : height,
      colourProbe: element,
      onPoint: setPointed,
      ...(onBrush.current === undefined ? {} : { onBrush: (from, to) => onBrush.current?.(from, to) }),
    });
    // The sum of all is drawn first, so that each stands before those that hold it.
    const shown = isStacked ? stack(values).reverse() : values;
    const made = new Plot(options, [columns.timesMs, ...shown] as uPlot.AlignedData, element);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = undefined;
    };
  }, [
    ...[Plot, columns, visible, kind, startMs, endMs, isStacked, min, max, height],
    ...[shade.value, clock.value, JSON.stringify([lines, marks])],
  ]);
  useEffect(() => {
    const element = box.current!;
    const watching = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = element;
      const next = {
        width: clientWidth,
        height: height === "fill" ? Math.max(heightMin, clientHeight) : height,
      };
      if (
        plot.current !== undefined &&
        (plot.current.width !== next.width || plot.current.height !== next.height)
      )
        plot.current.setSize(next);
    });
    watching.observe(element);
    return () => watching.disconnect();
  }, [height]);

  return (
    <figure class="chart">
      <div
        ref={box}
        class={height === "fill" ? "chart-box fill" : "chart-box"}
        style={height === "fill" ? {} : { height: `${height}px` }}
        role="img"
        aria-label={describe(props)}
      />
      {hasLegend ? (
        <Legend
          label={label}
          series={drawn}
          columns={columns}
          pointed={pointed}
          hidden={hidden}
          onHide={setHidden}
          left={series.length - drawn.length}
        />
      ) : null}
    </figure>
  );
}

/** The library that draws, which is loaded with the first chart. Where it is missing, the shell says so. */
function usePlot(): typeof uPlot | undefined {
  const [loaded, setLoaded] = useState<{ Plot: typeof uPlot } | undefined>(plotLoaded);
  useEffect(() => {
    if (loaded === undefined) void loadPlot().then(setLoaded, () => undefined);
  }, []);
  return loaded?.Plot;
}

let plotLoaded: { Plot: typeof uPlot } | undefined;

async function loadPlot(): Promise<{ Plot: typeof uPlot }> {
  const { default: Plot } = await loadChunk(() => import("uplot"));
  plotLoaded = { Plot };
  return plotLoaded;
}

function describe({ label, series, startMs, endMs }: TimeChartProps): string {
  let highest: { value: number; ms: number; name: string } | undefined;
  for (const { name, points } of series)
    for (const [ms, value] of points)
      if (value !== null && (highest === undefined || value > highest.value)) highest = { value, ms, name };
  const { short } = clock.peek();
  const range = `${short(startMs)} to ${short(endMs)}`;
  if (highest === undefined) return `${label}: no points from ${range}`;
  const { value, ms, name } = highest;
  return `${label}: ${nameCount(series.length, "series", "series")} from ${range}, highest ${value} at ${short(ms)} (${name.slice(0, 80)})`;
}
