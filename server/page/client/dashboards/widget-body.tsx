/** What a widget shows, by its type. */

import { useEffect } from "preact/hooks";
import { useLoading } from "../api/loading.ts";
import { SeriesTable } from "../charts/series-table.tsx";
import { TimeChart } from "../charts/time-chart.tsx";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { TableBox } from "../ui/table-box.tsx";
import { contentOf, type KeptWidget, type WidgetContent } from "./answers.ts";
import { BarGauge, Gauge, Pie, Stat } from "./figures.tsx";
import { Markdown } from "./markdown.tsx";
import { loadRows, loadSeries, loadSpans, type QueryScope, type WidgetSeries } from "./queries.ts";

interface WidgetBodyProps {
  widget: KeptWidget;
  scope: QueryScope;
  onBrush(startMs: number, endMs: number): void;
}

export function WidgetBody({ widget, scope, onBrush }: WidgetBodyProps) {
  const content = contentOf(widget);
  if (widget.type === "markdown") return <Markdown text={content.content ?? ""} />;
  if (content.expression?.queryMode === "promql")
    return <p class="hint">Its queries are PromQL, which this server keeps but does not run.</p>;
  const isRows = widget.type === "log" || (widget.type === "table" && !isSeries(content));
  if (isRows) return <Rows content={content} scope={scope} />;
  if (widget.type === "trace") return <Spans content={content} scope={scope} />;
  return <Series type={widget.type} content={content} scope={scope} onBrush={onBrush} />;
}

/** Whether a table's query calculates: it begins with a name and a bracket. */
function isSeries({ expression }: WidgetContent): boolean {
  return /^[\s(-]*[a-z_]+\s*(?:\(|by\b|without\b)/.test(expression?.svcQLQueries?.[0]?.query ?? "");
}

interface SeriesProps {
  type: string;
  content: WidgetContent;
  scope: QueryScope;
  onBrush(startMs: number, endMs: number): void;
}

function Series({ type, content, scope, onBrush }: SeriesProps) {
  const loading = useLoading((asked: QueryScope, signal: AbortSignal) => loadSeries(content, asked, signal));
  useEffect(() => void loading.load(scope), [scope, JSON.stringify(content.expression)]);
  const found = loading.answer.value;
  if (loading.problem.value !== undefined)
    return <p class="problem small">{loading.problem.value.message}</p>;
  if (found === undefined) return <p class="hint">Loading…</p>;
  return (
    <div class={loading.isLoading.value ? "panel-body stale" : "panel-body"}>
      {found.warnings.length === 0 ? null : (
        <p class="warning small" title={found.warnings.join("\n")}>
          {found.warnings[0]}
        </p>
      )}
      {found.series.length === 0 ? (
        <p class="hint">No points in this range.</p>
      ) : (
        <Drawn type={type} content={content} found={found} onBrush={onBrush} />
      )}
    </div>
  );
}

interface DrawnProps extends Pick<SeriesProps, "type" | "content" | "onBrush"> {
  found: WidgetSeries;
}

function Drawn({ type, content, found, onBrush }: DrawnProps) {
  const { series, scope, bucketMs } = found;
  switch (type) {
    case "chart":
      return (
        <TimeChart
          label={content.title ?? "chart"}
          kind={content.chartType ?? "line"}
          isStacked={content.chartType === "bar"}
          series={series}
          startMs={scope.startTime}
          endMs={scope.endTime}
          bucketMs={bucketMs}
          height="fill"
          onBrush={onBrush}
        />
      );
    case "table":
      return <SeriesTable series={series} />;
    case "gauge":
      return <Gauge series={series} content={content} />;
    case "barGauge":
      return <BarGauge series={series} content={content} />;
    case "pie":
      return <Pie series={series} label={content.title ?? "shares"} />;
    case "stat":
      return <Stat found={found} content={content} />;
    default:
      return <p class="hint">This page does not know widgets of type {type}.</p>;
  }
}

function Rows({ content, scope }: { content: WidgetContent; scope: QueryScope }) {
  const loading = useLoading((asked: QueryScope, signal: AbortSignal) => loadRows(content, asked, signal));
  useEffect(() => void loading.load(scope), [scope, JSON.stringify(content.expression)]);
  const found = loading.answer.value;
  if (loading.problem.value !== undefined)
    return <p class="problem small">{loading.problem.value.message}</p>;
  if (found === undefined) return <p class="hint">Loading…</p>;
  if (found.count === 0) return <p class="hint">No rows in this range.</p>;
  return (
    <TableBox label="Rows" class={loading.isLoading.value ? "panel-body stale" : "panel-body"}>
      <table class="panel-rows">
        <tbody>
          {found.logs.map((row, i) => (
            <tr key={i}>
              <td class="time">{clock.value.short(row.timestamp)}</td>
              <td>{row.log_level}</td>
              <td>
                <bdi>{row.message.slice(0, 500)}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function Spans({ content, scope }: { content: WidgetContent; scope: QueryScope }) {
  const { traceId } = content;
  const loading = useLoading((asked: QueryScope, signal: AbortSignal) => loadSpans(content, asked, signal));
  useEffect(() => {
    if (traceId === undefined || traceId === "") void loading.load(scope);
  }, [scope, traceId, JSON.stringify(content.expression)]);
  if (traceId !== undefined && traceId !== "")
    return (
      <p>
        <a href={`/traces/${encodeURIComponent(traceId)}`}>
          Trace <code>{traceId.slice(0, 64)}</code>
        </a>
      </p>
    );
  const found = loading.answer.value;
  if (loading.problem.value !== undefined)
    return <p class="problem small">{loading.problem.value.message}</p>;
  if (found === undefined) return <p class="hint">Loading…</p>;
  if (found.spans.length === 0) return <p class="hint">No spans in this range.</p>;
  return (
    <TableBox label="Rows" class="panel-body">
      <table class="panel-rows">
        <tbody>
          {found.spans.map((span) => (
            <tr key={`${span.traceId} ${span.spanId}`}>
              <td class="time">{clock.value.short(Number(BigInt(span.startTimeUnixNano) / 1_000_000n))}</td>
              <td>
                <bdi>{span.attributes["service.name"] ?? ""}</bdi>
              </td>
              <td>
                <a
                  href={`/traces/${encodeURIComponent(span.traceId)}?span=${encodeURIComponent(span.spanId)}`}
                >
                  <bdi>{span.name === "" ? "(no name)" : span.name.slice(0, 200)}</bdi>
                </a>
              </td>
              <td class="number">{nameDuration(span.durationMs ?? 0)}</td>
              <td>{span.statusCode ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
