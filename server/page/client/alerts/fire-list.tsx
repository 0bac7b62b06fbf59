/** The fires of an alert; one that is opened says why it began. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { formatValue } from "../charts/format-value.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { AlertFire, ExplanationAnswer } from "./answers.ts";
import { FireInvestigation } from "./fire-investigation.tsx";
import { nameInstance, nameOperators } from "./names.ts";

const shownMax = 200;

/** How a fire ended. */
const reasons: Readonly<Record<string, string>> = {
  recovered: "its points no longer breach",
  gone: "no data for a long time",
  changed: "the alert was changed",
  deleted: "the alert was deleted",
  corrected: "rows that came late take it back",
};

export function FireList({ alertId, fires }: { alertId: string; fires: readonly AlertFire[] }) {
  if (fires.length === 0) return <p class="hint">It has not fired.</p>;
  return (
    <>
      <ul class="fires">
        {fires.slice(0, shownMax).map((fire) => (
          <FireLine key={fire.fireId} alertId={alertId} fire={fire} />
        ))}
      </ul>
      {fires.length > shownMax ? (
        <p class="hint">
          The newest {shownMax} of {fires.length} fires.
        </p>
      ) : null}
    </>
  );
}

function FireLine({ alertId, fire }: { alertId: string; fire: AlertFire }) {
  const isOpen = useSignal(false);
  const { firedAt, resolvedAt, reason, rule, labels, breachingDatapoint } = fire;
  return (
    <li>
      <details
        onToggle={(event) => {
          isOpen.value = event.currentTarget.open;
        }}
      >
        <summary>
          <span class={resolvedAt === null ? "badge firing" : "badge"}>
            {resolvedAt === null ? "firing" : "ended"}
          </span>{" "}
          {clock.value.short(firedAt)}, {nameDuration((resolvedAt ?? Date.now()) - firedAt)}:{" "}
          <bdi>{rule}</bdi> for <bdi>{nameInstance(labels)}</bdi>
          {breachingDatapoint === null ? null : `, value ${formatValue(breachingDatapoint.value)}`}
          {reason === null ? null : ` (${reasons[reason] ?? reason})`}
        </summary>
        {isOpen.value ? (
          <>
            <FireInvestigation fire={fire} />
            <Explanation alertId={alertId} fireId={fire.fireId} />
          </>
        ) : null}
      </details>
    </li>
  );
}

/** The verdict of each bucket that the rule looked at. */
function Explanation({ alertId, fireId }: { alertId: string; fireId: string }) {
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<ExplanationAnswer>(
      `/api/v1/alerts/${encodeURIComponent(alertId)}/fires/${encodeURIComponent(fireId)}/explanation`,
      { signal },
    ),
  );
  useEffect(() => void loading.load(undefined), [fireId]);
  if (loading.problem.value !== undefined) return <p class="problem">{loading.problem.value.message}</p>;
  const answer = loading.answer.value;
  if (answer === undefined) return <p class="hint">Loading…</p>;
  return (
    <div class="explanation">
      {answer.warnings?.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      <p>{answer.why}</p>
      {answer.points.length === 0 ? null : (
        <TableBox label="Buckets">
          <table>
            <thead>
              <tr>
                <th scope="col">Bucket of {nameDuration(answer.bucketSize * 1_000)}</th>
                <th scope="col">Value</th>
                <th scope="col">{nameOperators(answer.operators)}</th>
              </tr>
            </thead>
            <tbody>
              {answer.points.map(([ms, value], i) => (
                <tr key={ms}>
                  <td class="time">{clock.value.short(ms)}</td>
                  <td class="number">{value === null ? "missing" : formatValue(value)}</td>
                  <td>{verdictOf(answer.breaching[i])}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableBox>
      )}
      {answer.more === 0 ? null : <p class="hint">{answer.more} older buckets are not kept.</p>}
    </div>
  );
}

function verdictOf(isBreaching: boolean | null | undefined) {
  if (isBreaching === true) return <b class="breach">breaches</b>;
  return isBreaching === false ? "does not" : "missing";
}
