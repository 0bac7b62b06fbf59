/** One investigation: the likely cause and its evidence, what changed when, who suffers, and what to do. */

import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { path } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { usePolling } from "../ui/polling.ts";
import type { AskedQuestion, Narrated, OpenedInvestigation, ShownStep } from "./answers.ts";
import { FeedbackForm } from "./feedback-form.tsx";
import { linkOfQuery, type ShownWindow } from "./links.ts";
import { SuspectCard } from "./suspect-card.tsx";
import { Timeline } from "./timeline.tsx";
import { VerdictBadge } from "./verdict-badge.tsx";

const pollMs = 30_000;

export function InvestigationScreen() {
  const id = decodeURIComponent(path.value.split("/")[2]!);
  const loading = useLoading((asked: string, signal: AbortSignal) =>
    ask<OpenedInvestigation>(`/api/v1/investigations/${encodeURIComponent(asked)}`, { signal }),
  );
  const reload = () => void loading.load(id);
  usePolling(reload, pollMs, id);
  const found = loading.answer.value;
  useSubject(found?.id === id ? found.answer?.summary : undefined);
  return (
    <div class="screen">
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found?.id === id ? <Found investigation={found} reload={reload} /> : null}
    </div>
  );
}

function Found({ investigation, reload }: { investigation: OpenedInvestigation; reload(): void }) {
  const { startTime, endTime, answer, problem, fires } = investigation;
  return (
    <>
      <div class="screen-head">
        <h1>Investigation</h1>
        <VerdictBadge verdict={answer?.verdict ?? null} />
        <span class="grow" />
        <a href="/investigations">All investigations</a>
      </div>
      <p class="hint">
        {clock.value.full(startTime)}, {nameDuration(endTime + 1 - startTime)}
        <Subject investigation={investigation} />
      </p>
      {fires.map(({ fireId, alertId, alertName, firedAt }) => (
        <p key={fireId}>
          Alert{" "}
          <a href={`/alerts/${encodeURIComponent(alertId)}`}>
            <bdi>{alertName}</bdi>
          </a>{" "}
          fired {clock.value.short(firedAt)}
        </p>
      ))}
      {problem === null ? null : <p class="problem">It failed: {problem}</p>}
      {answer === null ? null : <Answer answer={answer} window={investigation} />}
      {answer === null ? null : <FeedbackForm investigation={investigation} onSaved={reload} />}
    </>
  );
}

function Subject({ investigation: { query, traceId, by } }: { investigation: OpenedInvestigation }) {
  return (
    <>
      {traceId === null ? null : (
        <>
          , of the trace <a href={`/traces/${encodeURIComponent(traceId)}`}>{traceId}</a>
        </>
      )}
      {query === null ? null : (
        <>
          , of <code>{query}</code>
        </>
      )}
      {by === null ? null : (
        <>
          , asked by <bdi>{by}</bdi>
        </>
      )}
    </>
  );
}

type Answered = NonNullable<OpenedInvestigation["answer"]>;

function Answer({ answer, window }: { answer: Answered; window: ShownWindow }) {
  const { summary, narrative, suspects, timeline, affected, nextSteps, normal, read, ms } = answer;
  return (
    <>
      <p class="summary">
        <bdi>{summary}</bdi>
      </p>
      {narrative === undefined ? null : (
        <Narrative narrative={narrative} asked={answer.asked ?? []} window={window} />
      )}
      {suspects.length === 0 ? null : (
        <>
          <h2>Suspects</h2>
          <ol class="suspects">
            {suspects.map((suspect, i) => (
              <SuspectCard key={suspect.service} suspect={suspect} place={i + 1} window={window} />
            ))}
          </ol>
          <h2>What changed, and when</h2>
          <Timeline entries={timeline} window={window} />
        </>
      )}
      <Steps name="Next steps" steps={nextSteps} window={window} />
      <Steps name="Who suffers" steps={affected} window={window} />
      {normal.length === 0 ? null : (
        <>
          <h2>As usual</h2>
          <ul class="steps">
            {normal.map((sentence) => (
              <li key={sentence}>
                <bdi>{sentence}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="hint">
        Read {nameCount(read.spans, "span")}, {nameCount(read.logs, "log")},{" "}
        {nameCount(read.series, "series", "series")} and {nameCount(read.resources, "row")} of Kubernetes in{" "}
        {nameDuration(ms)}.
      </p>
    </>
  );
}

/** What a language model wrote; each sentence leads to its evidence. */
function Narrative({
  narrative,
  asked,
  window,
}: {
  narrative: readonly Narrated[];
  asked: readonly AskedQuestion[];
  window: ShownWindow;
}) {
  return (
    <section class="narrative" aria-label="Written by a language model">
      <p class="hint">Written by a language model from the evidence below:</p>
      <p>
        {narrative.map(({ sentence, evidence }) => (
          <span key={sentence}>
            <bdi>{sentence}</bdi>{" "}
            {evidence.map((id) => (
              <a key={id} href={`#evidence-${id}`} aria-label={`Evidence ${id}`}>
                [{id}]
              </a>
            ))}{" "}
          </span>
        ))}
      </p>
      {asked.map(({ id, query, sentence }) => (
        <p key={id} id={`evidence-${id}`} tabIndex={-1}>
          <span class="evidence-id">{id}</span> {sentence}: <a href={linkOfQuery(query, window)}>{query}</a>
        </p>
      ))}
    </section>
  );
}

function Steps({ name, steps, window }: { name: string; steps: readonly ShownStep[]; window: ShownWindow }) {
  if (steps.length === 0) return null;
  return (
    <>
      <h2>{name}</h2>
      <ul class="steps">
        {steps.map(({ sentence, query }) => (
          <li key={sentence}>
            <bdi>{sentence}</bdi>
            {query === undefined ? null : (
              <>
                {" "}
                <a href={linkOfQuery(query, window)} title={query}>
                  Show
                </a>
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
