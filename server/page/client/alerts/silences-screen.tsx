/** All silences: what they hold back, and until when. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { Confirm } from "../ui/dialog.tsx";
import { usePolling } from "../ui/polling.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { SilenceAnswer } from "./answers.ts";
import { SilenceDialog } from "./silence-dialog.tsx";

const pollMs = 15_000;

export function SilencesScreen() {
  const isMaking = useSignal(false);
  const ending = useSignal<SilenceAnswer | undefined>(undefined);
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ silences: SilenceAnswer[] }>("/api/v1/silences?limit=1000", { signal }),
  );
  const reload = () => void loading.load(undefined);
  usePolling(reload, pollMs, "");
  const nowMs = Date.now();
  const silences = (loading.answer.value?.silences ?? []).toSorted((a, b) => b.endsAt - a.endsAt);
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Silences</h1>
        <span class="grow" />
        <a href="/alerts">Alerts</a>
        {may("configure") ? (
          <button
            type="button"
            class="primary"
            onClick={() => {
              isMaking.value = true;
            }}
          >
            New silence
          </button>
        ) : null}
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {loading.answer.value === undefined ? null : silences.length === 0 ? (
        <p class="empty">
          Nothing is silenced. A silence holds notifications back for a time: planned work, or a cause that is
          known.
        </p>
      ) : (
        <TableBox label="Silences">
          <table>
            <thead>
              <tr>
                <th scope="col">Holds</th>
                <th scope="col">Alerts</th>
                <th scope="col">Labels</th>
                <th scope="col">Comment</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {silences.map((silence) => (
                <tr key={silence.id}>
                  <td class="time">{nameTimes(silence, nowMs)}</td>
                  <td>
                    {silence.alertIds === undefined
                      ? "all"
                      : silence.alertIds.map((id) => (
                          <div key={id}>
                            <a href={`/alerts/${encodeURIComponent(id)}`}>
                              <bdi>{id}</bdi>
                            </a>
                          </div>
                        ))}
                  </td>
                  <td>
                    <bdi>{nameLabels(silence)}</bdi>
                  </td>
                  <td>
                    <bdi>{silence.comment ?? ""}</bdi>
                  </td>
                  <td>
                    {may("configure") ? (
                      <button
                        type="button"
                        onClick={() => {
                          ending.value = silence;
                        }}
                      >
                        {silence.endsAt > nowMs ? "End" : "Remove"}
                      </button>
                    ) : null}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableBox>
      )}
      {isMaking.value ? (
        <SilenceDialog
          onClose={() => {
            isMaking.value = false;
          }}
          onSaved={reload}
        />
      ) : null}
      {ending.value === undefined ? null : (
        <Confirm
          title="End this silence?"
          action="End"
          onConfirm={async () => {
            await ask(`/api/v1/silences/${encodeURIComponent(ending.value!.id)}`, { method: "DELETE" });
            reload();
          }}
          onClose={() => {
            ending.value = undefined;
          }}
        >
          <p>People are told at once of what still fires.</p>
        </Confirm>
      )}
    </div>
  );
}

function nameTimes({ startsAt = 0, endsAt }: SilenceAnswer, nowMs: number): string {
  if (endsAt <= nowMs) return `ended ${clock.value.short(endsAt)}`;
  if (startsAt > nowMs) return `from ${clock.value.short(startsAt)} to ${clock.value.short(endsAt)}`;
  return `until ${clock.value.short(endsAt)}, ${nameDuration(endsAt - nowMs)} more`;
}

function nameLabels({ match }: SilenceAnswer): string {
  return (match?.matchExpressions ?? [])
    .map(({ key, operator, values = [] }) => `${key} ${operator === "In" ? "=" : "≠"} ${values.join(" or ")}`)
    .join(", ");
}
