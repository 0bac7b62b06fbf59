/** All of a span: its fields, its own time, and its logs in the order of time. */

import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import type { SpanNode } from "./span-tree.ts";

export function SpanDetail({ node }: { node: SpanNode }) {
  const { span, startMs, endMs, selfMs } = node;
  const { logs, children: _, attributes, ...fields } = span;
  const all = Object.entries({ ...fields, ...attributes }).filter(
    ([, value]) => value !== "" && value !== undefined,
  );
  return (
    <div class="row-detail">
      <p>
        {`Began ${nameDuration(startMs)} after the trace, took ${nameDuration(endMs - startMs)}, ${nameDuration(Math.max(0, selfMs))} of it by itself.`}
        {span.orphan === true ? " Its parent is not stored." : ""}
      </p>
      <table class="fields">
        <tbody>
          {all.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">
                <bdi>{name}</bdi>
              </th>
              <td class="value">
                <bdi>{String(value).slice(0, 10_000)}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {logs.length === 0 ? null : (
        <section aria-label="Logs of the span">
          <h2>Logs</h2>
          <ol class="span-logs">
            {logs.map((row, i) => (
              <li key={i}>
                <span class="time">{clock.value.full(row.timestamp)}</span>{" "}
                <bdi>{row.message.slice(0, 2_000)}</bdi>
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}
