/** How two selections of rows differ: values of fields and patterns, those that differ most first. */

import { useSignalEffect } from "@preact/signals";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { type ComparedSides, comparedSides } from "../found/compared-windows.ts";
import { editPattern } from "../found/filter.ts";
import { run } from "../found/search-state.ts";
import { FieldActions } from "../rows/field-actions.tsx";
import { styleOfLevel } from "../rows/level-colour.ts";
import { nameCount } from "../ui/count.ts";
import { CompareForm } from "./compare-form.tsx";

interface Difference {
  selection: number;
  baseline: number;
  score: number;
}

interface CompareAnswer {
  selection: number;
  baseline: number;
  fields: { field: string; values: (Difference & { value: string | null })[] }[];
  patterns: (Difference & { template: string; text: string; example: string; level: string })[];
  uncompared: string[];
  warnings?: string[];
}

const loading = makeLoading<ComparedSides & { query: string }, CompareAnswer>((sides, signal) =>
  ask("/api/v1/query/compare", { body: { ...sides, limit: 30 }, signal }),
);

export function CompareView() {
  useSignalEffect(() => {
    const sides = comparedSides.value;
    if (run.value !== undefined && sides !== undefined)
      void loading.load({ ...sides, query: run.value.query });
  });
  const sides = comparedSides.value;
  if (sides === undefined) return null;
  const answer = loading.answer.value;
  return (
    <div class="compare">
      <p class="hint">
        Hold Shift and drag over the bars to mark A, what is looked into; once more to mark B, what it is
        compared with.
      </p>
      <CompareForm key={JSON.stringify(sides)} sides={sides} />
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer === undefined ? (
        <p class="empty" role="status">
          Comparing…
        </p>
      ) : (
        <Differences answer={answer} isStale={loading.isLoading.value} />
      )}
    </div>
  );
}

function Differences({ answer, isStale }: { answer: CompareAnswer; isStale: boolean }) {
  const { selection, baseline, fields, patterns, uncompared, warnings = [] } = answer;
  return (
    <div class={isStale ? "stale" : ""}>
      <p role="status">
        {`${nameCount(selection, "row")} in A, ${nameCount(baseline, "row")} in B. `}
        {fields.length + patterns.length === 0
          ? "Nothing differs more than chance and the usual changes explain."
          : `${nameCount(fields.length, "field")} and ${nameCount(patterns.length, "pattern")} differ.`}
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      <div class="differences">
        <section aria-label="Patterns that differ">
          <h2>Patterns</h2>
          <ul>
            {patterns.map((pattern) => (
              <PatternLine key={pattern.template} pattern={pattern} answer={answer} />
            ))}
          </ul>
        </section>
        <section aria-label="Fields that differ">
          <h2>Fields</h2>
          {fields.map(({ field, values }) => (
            <section key={field} aria-label={field}>
              <h3>
                <bdi>{field}</bdi>
              </h3>
              <ul>
                {values.map(({ value, ...difference }) => (
                  <li key={value}>
                    <span class="compared-name">
                      {value === null ? <i>without it</i> : <bdi>{value.slice(0, 300)}</bdi>}
                      <FieldActions field={field} value={value ?? ""} />
                    </span>
                    <Shares difference={difference} answer={answer} />
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </section>
      </div>
      {uncompared.length === 0 ? null : (
        <p class="hint">
          Not compared, because their values are ids or too many: {uncompared.slice(0, 50).join(", ")}
        </p>
      )}
    </div>
  );
}

interface PatternLineProps {
  pattern: CompareAnswer["patterns"][number];
  answer: CompareAnswer;
}

function PatternLine({ pattern, answer }: PatternLineProps) {
  const { template, text, example, level } = pattern;
  return (
    <li>
      <span class="compared-name" title={example.slice(0, 2_000)}>
        <span class="level-dot" style={{ background: `var(${styleOfLevel(level).colour})` }} />
        {level === "" ? null : <span class="hint">{level.slice(0, 12)}</span>} <bdi>{text.slice(0, 400)}</bdi>
        <span class="field-actions">
          <button type="button" class="quiet" onClick={() => void editPattern(template, "include")}>
            Only
          </button>
          <button type="button" class="quiet" onClick={() => void editPattern(template, "exclude")}>
            Exclude
          </button>
        </span>
      </span>
      <Shares difference={pattern} answer={answer} />
    </li>
  );
}

/** Two bars: the share of the rows of A, and of B. */
function Shares({
  difference: { selection, baseline },
  answer,
}: {
  difference: Difference;
  answer: CompareAnswer;
}) {
  const [inA, inB] = [selection / answer.selection, baseline / answer.baseline];
  return (
    <span class="shares">
      <span class="change">{nameChange(inA, inB)}</span>
      <span class="share">
        <span class="share-a" style={{ width: `${100 * inA}%` }} />
        <span class="share-b" style={{ width: `${100 * inB}%` }} />
      </span>
      <span class="number">
        {nameShare(inA)} of A, {nameShare(inB)} of B
      </span>
    </span>
  );
}

function nameChange(inA: number, inB: number): string {
  if (inB === 0) return "new";
  if (inA === 0) return "gone";
  const ratio = inA > inB ? inA / inB : inB / inA;
  return `${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)}× ${inA > inB ? "more" : "less"}`;
}

function nameShare(share: number): string {
  return `${Number((share * 100).toPrecision(share < 0.001 ? 1 : 2))} %`;
}
