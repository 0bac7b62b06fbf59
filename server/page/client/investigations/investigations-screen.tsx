/** All investigations, and the question that begins one. */

import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { usePolling } from "../ui/polling.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { ListedInvestigation } from "./answers.ts";
import { QuestionForm } from "./question-form.tsx";
import { VerdictBadge } from "./verdict-badge.tsx";

const pollMs = 15_000;

export function InvestigationsScreen() {
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ investigations: ListedInvestigation[] }>("/api/v1/investigations", { signal }),
  );
  usePolling(() => void loading.load(undefined), pollMs, "");
  const investigations = loading.answer.value?.investigations;
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Investigations</h1>
      </div>
      <p class="hint">
        An investigation compares a window of less than an hour with the hour before it, and names the service
        that is the likely cause. An alert can ask for one whenever it fires.
      </p>
      <QuestionForm />
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {investigations === undefined ? null : investigations.length === 0 ? (
        <p class="empty">Nothing was investigated yet.</p>
      ) : (
        <InvestigationTable investigations={investigations} />
      )}
    </div>
  );
}

function InvestigationTable({ investigations }: { investigations: readonly ListedInvestigation[] }) {
  return (
    <TableBox label="Investigations">
      <table>
        <thead>
          <tr>
            <th scope="col">Window</th>
            <th scope="col">Result</th>
            <th scope="col">Asked by</th>
            <th scope="col">Said of it</th>
          </tr>
        </thead>
        <tbody>
          {investigations.map((each) => (
            <tr key={each.id}>
              <td class="time">
                {clock.value.short(each.startTime)}, {nameDuration(each.endTime + 1 - each.startTime)}
              </td>
              <td>
                <VerdictBadge verdict={each.verdict} />{" "}
                <a href={`/investigations/${encodeURIComponent(each.id)}`}>
                  <bdi>{each.summary ?? each.problem ?? "No answer"}</bdi>
                </a>
              </td>
              <td>
                <Asker investigation={each} />
              </td>
              <td>{each.feedback?.verdict ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function Asker({ investigation: { by, fires } }: { investigation: ListedInvestigation }) {
  if (by !== null) return <bdi>{by}</bdi>;
  const alerts = new Map(fires.map(({ alertId, alertName }) => [alertId, alertName]));
  return (
    <>
      {[...alerts].map(([id, name]) => (
        <div key={id}>
          <a href={`/alerts/${encodeURIComponent(id)}`}>
            <bdi>{name}</bdi>
          </a>
        </div>
      ))}
    </>
  );
}
