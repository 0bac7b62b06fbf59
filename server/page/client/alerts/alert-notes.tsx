/** What people should know of an alert before they trust it: whom it cannot reach, and what its judgement lacks. */

import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import type { AlertStateAnswer, SavedAlert } from "./answers.ts";

export function AlertNotes({ alert, state }: { alert: SavedAlert; state: AlertStateAnswer }) {
  const { severity, labels = {}, runbook } = alert;
  const own = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return (
    <>
      {severity === undefined && own.length === 0 && runbook === undefined ? null : (
        <p>
          {severity === undefined ? null : <b>{severity} </b>}
          {own.map((label) => (
            <span key={label}>
              <bdi class="label">{label}</bdi>{" "}
            </span>
          ))}
          {runbook === undefined ? null : <Runbook text={runbook} />}
        </p>
      )}
      {state.unhealthySince === null ? null : (
        <p class="problem">It has not been judged since {clock.value.short(state.unhealthySince)}.</p>
      )}
      {state.undeliverable.map((sentence) => (
        <p key={sentence} class="warning">
          {nameAction(sentence, alert)}
        </p>
      ))}
      {completenessNotes(state).map((note) => (
        <p key={note} class="hint">
          {note}
        </p>
      ))}
    </>
  );
}

/** A link only where it is one: the text of a runbook may be anything. */
function Runbook({ text }: { text: string }) {
  if (!/^https?:\/\//.test(text)) return <span>Runbook: {text}</span>;
  return (
    <a href={text} rel="noreferrer noopener">
      Runbook
    </a>
  );
}

/** Names an action as people know it, where a sentence of the server names its place in the alert. */
function nameAction(sentence: string, { timeseries }: SavedAlert): string {
  return sentence.replace(
    /^alert\.timeseries\.evaluationRules\[(\d+)\]\.actions\[(\d+)\]/,
    (place, rule: string, action: string) => {
      const name = timeseries.evaluationRules[Number(rule)]?.name;
      return name === undefined ? place : `Action ${Number(action) + 1} of ${name}`;
    },
  );
}

function completenessNotes({ incompleteBuckets, lateRows }: AlertStateAnswer): string[] {
  const awaited = incompleteBuckets.filter(({ awaitedUntil }) => awaitedUntil !== null);
  const lost = incompleteBuckets.length - awaited.length;
  const notes = [];
  if (awaited.length > 0) {
    const until = Math.max(...awaited.map(({ awaitedUntil }) => awaitedUntil!));
    const what = nameCount(awaited.length, "bucket");
    notes.push(
      `Rows of ${what} are awaited until ${clock.value.short(until)}: the server was down, and senders repeat them.`,
    );
  }
  if (lost > 0)
    notes.push(`${nameCount(lost, "bucket")} may lack rows of a downtime, which nobody sent again.`);
  if (lateRows !== null && lateRows.judgedAgain > 0)
    notes.push(`${nameCount(lateRows.judgedAgain, "bucket")} were judged again for rows that came late.`);
  if (lateRows !== null && lateRows.tooLate > 0)
    notes.push(`Rows of ${nameCount(lateRows.tooLate, "bucket")} came too late to be judged.`);
  return notes;
}
