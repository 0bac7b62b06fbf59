/** The search for spans: those found, the newest first or the slowest of them. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import { QueryEditor } from "../query/query-editor.tsx";
import { makeStoredNames } from "../query/stored-names.ts";
import { AddressRangePicker } from "../time/address-range.tsx";
import { defaultRange, nameDuration, resolveRange } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import type { FoundSpan, SpanPage } from "./answers.ts";
import { DurationHistogram, filterDurations, type SpanSearch } from "./duration-histogram.tsx";
import { ServiceMap } from "./service-map.tsx";

const pageRows = 200;

/** The first page of a search, or the pages so far and the next one. */
const found = makeLoading<{ asked: SpanSearch; before?: SpanPage }, SpanPage>(
  async ({ asked, before }, signal) => {
    const body = { ...asked, limit: pageRows, ...(before === undefined ? {} : { cursor: before.cursor }) };
    const page = await ask<SpanPage>("/api/v1/query/traces", { body, signal });
    const spans = [...(before?.spans ?? []), ...page.spans];
    return { ...page, spans, count: spans.length };
  },
);

/** What the address asks for. Without a query: the first spans of traces, or all for the map. */
function wantedSpans() {
  const all = parameters.value;
  const isMap = all.get("view") === "map";
  return {
    isMap,
    query: all.get("q") ?? (isMap ? "traces" : 'traces{parent_span_id=""}'),
    range: { from: all.get("from") ?? defaultRange.from, to: all.get("to") ?? defaultRange.to },
    isSlowestFirst: all.get("sort") === "slowest",
  };
}

const storedNames = makeStoredNames(() => resolveRange(wantedSpans().range, Date.now()));

export function TracesScreen() {
  const { query, range, isSlowestFirst, isMap } = wantedSpans();
  const runs = useSignal(0);
  const started = useMemo(
    (): SpanSearch => ({ query, ...resolveRange(range, Date.now()) }),
    [query, range.from, range.to, runs.value],
  );
  const run = (text: string) => {
    if (text === query) runs.value++;
    else go(withParameters({ q: text }));
  };
  return (
    <div class="search">
      <h1 class="unseen">Traces</h1>
      <search class="query-bar">
        <QueryEditor query={query} what="rows" names={storedNames} onRun={(text) => run(text.trim())} />
        <AddressRangePicker range={range} onAgain={() => runs.value++} />
        {isMap ? null : (
          <button
            type="button"
            aria-pressed={isSlowestFirst}
            title="Sorts the spans that are loaded"
            onClick={() => go(withParameters({ sort: isSlowestFirst ? null : "slowest" }), { replace: true })}
          >
            Slowest first
          </button>
        )}
        <button
          type="button"
          aria-pressed={isMap}
          onClick={() => go(withParameters({ view: isMap ? null : "map", service: null }))}
        >
          Service map
        </button>
      </search>
      {isMap ? (
        <ServiceMap asked={started} />
      ) : (
        <FoundSpans asked={started} isSlowestFirst={isSlowestFirst} onQuery={run} />
      )}
    </div>
  );
}

interface FoundSpansProps {
  asked: SpanSearch;
  isSlowestFirst: boolean;
  onQuery(query: string): void;
}

function FoundSpans({ asked, isSlowestFirst, onQuery }: FoundSpansProps) {
  useEffect(() => void found.load({ asked }), [asked]);
  const answer = found.answer.value;
  return (
    <>
      {found.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {found.problem.value.message}
        </p>
      )}
      {answer?.warnings?.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      <DurationHistogram
        asked={asked}
        onSelect={(fromMs, toMs) => onQuery(filterDurations(asked.query, fromMs, toMs))}
      />
      {answer === undefined ? null : (
        <>
          <p role="status" class="hint">
            {answer.count === 0
              ? "No span in this range."
              : `${answer.cursor === undefined ? "" : "The newest "}${nameCount(answer.count, "span")} in ${nameDuration(found.tookMs.value)}`}
          </p>
          <SpanTable spans={answer.spans} isSlowestFirst={isSlowestFirst} isStale={found.isLoading.value} />
          {answer.cursor === undefined ? null : (
            <button
              type="button"
              class="more"
              disabled={found.isLoading.value}
              onClick={() => void found.load({ asked, before: answer })}
            >
              More spans
            </button>
          )}
        </>
      )}
    </>
  );
}

interface SpanTableProps {
  spans: readonly FoundSpan[];
  isSlowestFirst: boolean;
  isStale: boolean;
}

function SpanTable({ spans, isSlowestFirst, isStale }: SpanTableProps) {
  const shown = isSlowestFirst ? spans.toSorted((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0)) : spans;
  const longest = Math.max(0.001, ...spans.map(({ durationMs }) => durationMs ?? 0));
  return (
    <div class={isStale ? "patterns stale" : "patterns"}>
      <table>
        <thead>
          <tr>
            <th scope="col">Start</th>
            <th scope="col">Service</th>
            <th scope="col">Name</th>
            <th scope="col">Duration</th>
            <th scope="col">Status</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((span) => (
            <tr key={`${span.traceId} ${span.spanId}`}>
              <td class="time">{clock.value.full(Number(BigInt(span.startTimeUnixNano) / 1_000_000n))}</td>
              <td class="time">
                <bdi>{span.attributes["service.name"] ?? ""}</bdi>
              </td>
              <td class="pattern">
                <a
                  href={`/traces/${encodeURIComponent(span.traceId)}?span=${encodeURIComponent(span.spanId)}`}
                >
                  <bdi>{span.name === "" ? "(no name)" : span.name.slice(0, 300)}</bdi>
                </a>
              </td>
              <td class="number duration">
                <span
                  class="duration-bar"
                  style={{ width: `${(100 * (span.durationMs ?? 0)) / longest}%` }}
                />
                <span>{nameDuration(span.durationMs ?? 0)}</span>
              </td>
              <td>{span.statusCode ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
