/** The patterns of the messages that were found, the most frequent first. */

import { useSignalEffect } from "@preact/signals";
import type { PatternsAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { editPattern } from "../found/filter.ts";
import { run, type SearchRun } from "../found/search-state.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";

const patterns = makeLoading(async (started: SearchRun, aborting: AbortSignal) => {
  const { signal: _, ...asked } = started;
  const body = { ...asked, limit: 200 };
  return { started, ...(await ask<PatternsAnswer>("/api/v1/query/patterns", { body, signal: aborting })) };
});

export function PatternTable() {
  useSignalEffect(() => {
    const started = run.value;
    // The table goes while rows are shown, and comes back with the same run.
    if (started !== undefined && patterns.answer.peek()?.started !== started) void patterns.load(started);
  });
  const answer = patterns.answer.value;
  if (patterns.problem.value !== undefined) return <p class="problem">{patterns.problem.value.message}</p>;
  if (answer === undefined)
    return (
      <p class="empty" role="status">
        Finding patterns…
      </p>
    );
  return (
    <div class={patterns.isLoading.value ? "patterns stale" : "patterns"}>
      <table>
        <caption class="hint">
          {`${nameCount(answer.distinct, "pattern")} of ${nameCount(answer.count, "row")}`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Rows</th>
            <th scope="col">Share</th>
            <th scope="col">Pattern</th>
            <th scope="col">Last seen</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {answer.patterns.map(({ template, text, count, share, example, lastSeen }) => (
            <tr key={template}>
              <td class="number">{count.toLocaleString("en")}</td>
              <td class="number">{(share * 100).toFixed(share < 0.01 ? 2 : 0)}%</td>
              <td class="pattern" title={example.slice(0, 2_000)}>
                <bdi>{text.slice(0, 2_000)}</bdi>
              </td>
              <td class="time">{clock.value.short(lastSeen)}</td>
              <td class="field-actions">
                <button type="button" class="quiet" onClick={() => void editPattern(template, "include")}>
                  Only
                </button>
                <button type="button" class="quiet" onClick={() => void editPattern(template, "exclude")}>
                  Exclude
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
