/** A trace: its spans as a waterfall, what its time depends on, and each span with its fields and logs. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { go, parameters, path, withParameters } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { isPageKey } from "../ui/keys.ts";
import { VirtualList } from "../ui/virtual-list.tsx";
import type { TraceAnswer } from "./answers.ts";
import { Minimap, type TraceWindow } from "./minimap.tsx";
import { SpanDetail } from "./span-detail.tsx";
import { SpanLine } from "./span-line.tsx";
import { findCriticalPath, flattenTrace, isError, openNodes, type SpanNode } from "./span-tree.ts";

const rowHeight = 24;
const nothing = () => undefined;

const trace = makeLoading<string, TraceAnswer>((id, signal) =>
  ask(`/api/v1/traces/${encodeURIComponent(id)}`, { signal }),
);

export function TraceScreen() {
  const id = decodeURIComponent(path.value.split("/")[2] ?? "");
  useEffect(() => {
    trace.clear();
    void trace.load(id);
  }, [id]);
  const answer = trace.answer.value;
  useSubject(answer?.roots[0]?.name);
  if (trace.problem.value !== undefined)
    return (
      <p class="problem" role="alert">
        {trace.problem.value.message}
      </p>
    );
  if (answer === undefined)
    return (
      <p class="empty" role="status">
        Loading the trace…
      </p>
    );
  return <Waterfall answer={answer} />;
}

function Waterfall({ answer }: { answer: TraceAnswer }) {
  const nodes = useMemo(() => flattenTrace(answer), [answer]);
  const critical = useMemo(() => findCriticalPath(nodes), [nodes]);
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const text = useSignal("");
  const errorsOnly = useSignal(false);
  const showsPath = useSignal(false);
  /** Percent of the trace's time; shorter spans are hidden. */
  const shortest = useSignal(0);
  const selected = parameters.value.get("span");
  const services = useMemo(() => [...answer.services].sort(), [answer]);
  const leastMs = (shortest.value / 100) * answer.durationMs;
  const shown = openNodes(nodes, closed.value).filter(
    ({ hasError, longestMs }) => (!errorsOnly.value || hasError) && longestMs >= leastMs,
  );
  const needle = text.value.trim().toLowerCase();
  const matches = needle === "" ? [] : shown.flatMap((node, i) => (isMatch(node, needle) ? [i] : []));
  const focused = shown.findIndex(({ span }) => span.spanId === selected);
  const select = (node: SpanNode | undefined) =>
    go(withParameters({ span: node?.span.spanId ?? null }), { replace: true });
  const step = (by: number) => select(shown[Math.min(shown.length - 1, Math.max(0, focused + by))]);
  const toggle = (node: SpanNode) => {
    const next = new Set(closed.value);
    if (!next.delete(node.span.spanId)) next.add(node.span.spanId);
    closed.value = next;
  };
  const toNextMatch = () => {
    const next = matches.find((i) => i > focused) ?? matches[0];
    if (next !== undefined) select(shown[next]);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isPageKey(event)) return;
      if (event.target instanceof HTMLElement && event.target.matches("button, a, summary")) return;
      const node = shown[focused];
      if (event.key === "j" || event.key === "ArrowDown") step(1);
      else if (event.key === "k" || event.key === "ArrowUp") step(-1);
      else if (event.key === "c") showsPath.value = !showsPath.value;
      else if (event.key === "ArrowLeft" && node !== undefined && !closed.value.has(node.span.spanId))
        toggle(node);
      else if (event.key === "ArrowRight" && node !== undefined && closed.value.has(node.span.spanId))
        toggle(node);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
  const durationMs = Math.max(answer.durationMs, 0.001);
  const window = useSignal<TraceWindow | undefined>(undefined);
  const scale = window.value ?? { startMs: 0, endMs: durationMs };
  return (
    <div class="trace">
      <header class="trace-head">
        <h1>
          <bdi>{nodes[0]?.span.name ?? "Trace"}</bdi>
        </h1>
        <p>
          {`${clock.value.full(answer.startTime)}, ${nameDuration(answer.durationMs)}, ${nameCount(answer.spans, "span")} of ${nameCount(services.length, "service")}, ${nodes.filter(({ span }) => isError(span)).length} with errors`}
          {answer.truncated === true ? "; there are more: the newest are shown" : ""}
        </p>
        <div class="trace-tools">
          <a
            href={`/investigations?${new URLSearchParams({ trace: answer.traceId })}`}
            title="Compares the calls of this trace with those of the hour before"
          >
            Investigate
          </a>
          <input
            type="search"
            aria-label="Find spans"
            placeholder="Find spans"
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => event.key === "Enter" && toNextMatch()}
          />
          {needle === "" ? null : <span class="hint">{matches.length.toLocaleString("en")} found</span>}
          <button
            type="button"
            aria-pressed={errorsOnly.value}
            onClick={() => {
              errorsOnly.value = !errorsOnly.value;
            }}
          >
            Errors only
          </button>
          <label>
            Hide below{" "}
            <select
              value={String(shortest.value)}
              onChange={(event) => {
                shortest.value = Number(event.currentTarget.value);
              }}
            >
              {[0, 1, 2, 5, 10].map((percent) => (
                <option key={percent} value={String(percent)}>
                  {percent === 0 ? "nothing" : `${percent} %`}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            aria-pressed={showsPath.value}
            title="What the trace's time depends on"
            onClick={() => {
              showsPath.value = !showsPath.value;
            }}
          >
            Critical path
          </button>
          <a
            href={`/?q=${encodeURIComponent(`trace_id="${answer.traceId}"`)}&from=${answer.startTime - 60_000}&to=${Math.ceil(answer.startTime + answer.durationMs) + 60_000}`}
          >
            Logs of this trace
          </a>
        </div>
        <Minimap
          {...{ nodes, services, durationMs, window: scale }}
          onChange={(next) => {
            window.value = next;
          }}
        />
      </header>
      <div class="rows">
        <VirtualList
          count={shown.length}
          rowHeight={rowHeight}
          open={focused === -1 ? [] : [focused]}
          label="Spans"
          focused={focused === -1 ? undefined : focused}
          row={(i) => (
            <SpanLine
              node={shown[i]!}
              scale={scale}
              service={services.indexOf(shown[i]!.span.attributes["service.name"] ?? "")}
              isClosed={closed.value.has(shown[i]!.span.spanId)}
              isSelected={i === focused}
              isMatch={needle !== "" && isMatch(shown[i]!, needle)}
              pieces={showsPath.value ? critical.filter(({ node }) => node === shown[i]) : undefined}
              onToggle={() => toggle(shown[i]!)}
              onSelect={() => select(i === focused ? undefined : shown[i])}
            />
          )}
          detail={(i) => <SpanDetail node={shown[i]!} />}
          end={shown.length === 0 ? <p class="empty">No span of this trace has an error.</p> : null}
          onNearEnd={nothing}
        />
      </div>
    </div>
  );
}

function isMatch({ span }: SpanNode, needle: string): boolean {
  const texts = [span.name, ...Object.values(span.attributes)];
  return texts.some((each) => each.toLowerCase().includes(needle));
}
