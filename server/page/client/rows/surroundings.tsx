/** The rows around a row, in its place: those of the same pod or service at first, all if that is asked for. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AroundAnswer, FoundLog } from "../api/answers.ts";
import { loadChunk } from "../api/chunk.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { clock } from "../time/zone.ts";
import { Icon } from "../ui/icon.tsx";
import { styleOfLevel } from "./level-colour.ts";

/** Fields whose value the rows around share with the row, the narrowest first. */
const placeFields = ["k8s.pod.name", "host.name", "service.name"];
const rowsAtFirst = 10;
const rowsMax = 500;

interface Asked {
  id: string;
  filters: readonly [string, string][];
  before: number;
  after: number;
}

export function Surroundings({ row, id }: { row: FoundLog; id: string }) {
  const removed = useSignal<readonly string[]>([]);
  const before = useSignal(rowsAtFirst);
  const after = useSignal(rowsAtFirst);
  const filters = placeFields.flatMap((field): [string, string][] => {
    const value = row.attributes[field];
    return value === undefined || removed.value.includes(field) ? [] : [[field, value]];
  });
  const around = useSignal(
    makeLoading<Asked, AroundAnswer>(async ({ filters, ...asked }, signal) => {
      const { editQuery } = await loadChunk(() => import("../query/language.ts"));
      const query = filters.reduce(
        (text, [field, value]) => editQuery(text, { field, value, action: "include" }),
        "",
      );
      return ask("/api/v1/query/around", { body: { ...asked, query }, signal });
    }),
  ).value;
  useEffect(
    () => void around.load({ id, filters, before: before.value, after: after.value }),
    [id, removed.value, before.value, after.value],
  );
  const answer = around.answer.value;
  return (
    <section class="surroundings" aria-label="Surroundings">
      <p>
        {filters.length === 0 ? "All rows around it" : "Rows around it with the same "}
        {filters.map(([field]) => (
          <button
            key={field}
            type="button"
            class="chip"
            title="Show rows with other values too"
            onClick={() => {
              removed.value = [...removed.value, field];
            }}
          >
            {field} <Icon name="close" />
          </button>
        ))}
      </p>
      {around.problem.value === undefined ? null : (
        <p class="problem small">{around.problem.value.message}</p>
      )}
      {answer === undefined ? null : (
        <ol class={around.isLoading.value ? "stale" : undefined}>
          <More isThere={answer.hasMoreAfter} count={after} name="later" />
          {answer.after.map((each) => (
            <Line key={each.id} row={each} />
          ))}
          <Line row={answer.row} isSelf />
          {answer.before.map((each) => (
            <Line key={each.id} row={each} />
          ))}
          <More isThere={answer.hasMoreBefore} count={before} name="earlier" />
        </ol>
      )}
    </section>
  );
}

function More({ isThere, count, name }: { isThere: boolean; count: { value: number }; name: string }) {
  if (!isThere) return <li class="hint">There is no {name} row.</li>;
  return (
    <li>
      <button
        type="button"
        class="quiet"
        disabled={count.value >= rowsMax}
        onClick={() => {
          count.value = Math.min(rowsMax, count.value * 4);
        }}
      >
        More {name} rows
      </button>
    </li>
  );
}

function Line({ row, isSelf = false }: { row: FoundLog; isSelf?: boolean }) {
  const { timestamp, log_level: level, message } = row;
  return (
    <li
      class="row-line"
      aria-current={isSelf ? "true" : undefined}
      data-focused={isSelf || undefined}
      style={{ "--level": `var(${styleOfLevel(level).colour})` }}
    >
      <span class="time">{clock.value.full(timestamp)}</span>
      <span class="level">{level}</span>
      <bdi class="message">{message.slice(0, 400)}</bdi>
    </li>
  );
}
