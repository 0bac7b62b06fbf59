/** Makes an alert, or changes one, beside what it would have done. */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiProblem, ask, askWithEtag, type ServerAnswer } from "../api/client.ts";
import { go, parameters, path } from "../browser/address.ts";
import { useUnsaved } from "../browser/unsaved.ts";
import { QueryEditor } from "../query/query-editor.tsx";
import { makeStoredNames } from "../query/stored-names.ts";
import { Field } from "../ui/field.tsx";
import { ManagedNote } from "../ui/managed-badge.tsx";
import { newAlert, newRule, withQuery, withRule, withRules } from "./alert-draft.ts";
import { AlertPreview } from "./alert-preview.tsx";
import type { AlertAnswer, SavedAlert } from "./answers.ts";
import { MessageFields } from "./message-fields.tsx";
import { RuleFields } from "./rule-fields.tsx";

const dayMs = 86_400_000;
const names = makeStoredNames(() => ({ startTime: Date.now() - dayMs, endTime: Date.now() }));
const queryDefault = 'count(logs{log_level="error"}) by (service.name)';

export function AlertEditorScreen() {
  const [, , place] = path.value.split("/") as [string, string, string];
  const id = place === "new" ? undefined : decodeURIComponent(place);
  const saved = useSignal<ServerAnswer<AlertAnswer> | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    if (id === undefined) return;
    askWithEtag<AlertAnswer>(`/api/v1/alerts/${encodeURIComponent(id)}`).then(
      (answer) => {
        saved.value = answer;
      },
      (error: Error) => {
        problem.value = error.message;
      },
    );
  }, [id]);
  if (problem.value !== "")
    return (
      <p class="problem" role="alert">
        {problem.value}
      </p>
    );
  if (id === undefined) return <Editor alert={newAlert(parameters.value.get("query") ?? queryDefault)} />;
  if (saved.value === undefined) return null;
  const { answer, etag } = saved.value;
  if (answer.managed !== undefined) return <ManagedNote managed={answer.managed} />;
  return <Editor key={id} alert={answer.alert} id={id} etag={etag} />;
}

interface EditorProps {
  alert: SavedAlert;
  /** Those of the saved alert; absent for a new one. */
  id?: string;
  etag?: string | undefined;
}

function Editor({ alert, id, etag }: EditorProps) {
  /** What is saved: the query as it is typed. */
  const draft = useSignal(alert);
  /** The query that ran last, which the preview shows. */
  const queryRun = useSignal(alert.timeseries.expression.svcQLTimeseries.query);
  const previewed = useComputed(() => withQuery(draft.value, { query: queryRun.value }));
  const values = useSignal<{ least: number; greatest: number } | undefined>(undefined);
  const problem = useSignal<ApiProblem | undefined>(undefined);
  const isSaving = useSignal(false);
  const isChanged = useSignal(false);
  useUnsaved({ hasChanges: () => isChanged.peek() });
  const change = (next: SavedAlert) => {
    draft.value = next;
    isChanged.value = true;
  };
  const save = async () => {
    isSaving.value = true;
    try {
      const answer = await ask<{ id: string }>("/api/v1/alerts/update", {
        ...{ body: { alert: draft.value }, ifMatch: etag },
      });
      isChanged.value = false;
      go(`/alerts/${encodeURIComponent(answer.id)}`);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      const isConflict = error.status === 412;
      problem.value = isConflict
        ? new ApiProblem("Somebody else has saved this alert meanwhile.", 412)
        : error;
      isSaving.value = false;
    }
  };
  /** The problem of a member of the draft, or of one below it. */
  const problemAt = (member: string) =>
    problem.value?.field?.startsWith(`alert${member}`) ? problem.value.message : undefined;
  const { metadata, timeseries } = draft.value;
  const { bucketSize } = timeseries.expression.svcQLTimeseries;
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>{id === undefined ? "New alert" : "Edit alert"}</h1>
        <span class="grow" />
        <a href={id === undefined ? "/alerts" : `/alerts/${encodeURIComponent(id)}`}>Cancel</a>
        <button type="button" class="primary" disabled={isSaving.value} onClick={() => void save()}>
          Save
        </button>
      </div>
      {problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {problem.value.message}
        </p>
      )}
      <div class="editor-and-preview">
        <div class="alert-fields">
          <div class="fields">
            <Field label="Name" problem={problemAt(".metadata.name")}>
              {(attributes) => (
                <input
                  {...attributes}
                  value={metadata.name}
                  onInput={(event) =>
                    change({ ...draft.value, metadata: { ...metadata, name: event.currentTarget.value } })
                  }
                />
              )}
            </Field>
            <Field label="Description" problem={problemAt(".metadata.description")}>
              {(attributes) => (
                <input
                  {...attributes}
                  value={metadata.description ?? ""}
                  onInput={(event) =>
                    change({
                      ...draft.value,
                      metadata: { ...metadata, description: event.currentTarget.value },
                    })
                  }
                />
              )}
            </Field>
          </div>
          <QueryEditor
            query={queryRun.value}
            what="series"
            names={names}
            onType={(text) => change(withQuery(draft.value, { query: text.trim() }))}
            onRun={(text) => {
              queryRun.value = text.trim();
            }}
          />
          {problemAt(".timeseries.expression.svcQLTimeseries.query") === undefined ? null : (
            <p class="problem small">{problem.value!.message}</p>
          )}
          <Field
            label="Seconds of a bucket"
            hint="Each bucket gives a point; it is judged once when it is complete."
            problem={problemAt(".timeseries.expression.svcQLTimeseries.bucketSize")}
          >
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                min={1}
                value={bucketSize}
                onInput={(event) => {
                  const seconds = Number(event.currentTarget.value);
                  if (Number.isInteger(seconds) && seconds > 0)
                    change(withQuery(draft.value, { bucketSize: seconds }));
                }}
              />
            )}
          </Field>
          {timeseries.evaluationRules.map((rule, i) => (
            <RuleFields
              key={i}
              rule={rule}
              values={values.value}
              problemAt={(member) => problemAt(`.timeseries.evaluationRules[${i}]${member}`)}
              onChange={(next) => change(withRule(draft.value, i, next))}
              onRemove={
                timeseries.evaluationRules.length > 1
                  ? () => change(withRules(draft.value, timeseries.evaluationRules.toSpliced(i, 1)))
                  : undefined
              }
            />
          ))}
          <button
            type="button"
            onClick={() => {
              const rules = timeseries.evaluationRules;
              change(withRules(draft.value, [...rules, newRule(`rule ${rules.length + 1}`)]));
            }}
          >
            Another rule
          </button>
          <MessageFields alert={draft.value} problemAt={problemAt} onChange={change} />
          <label class="check">
            <input
              type="checkbox"
              checked={draft.value.investigateOnFire === true}
              onChange={(event) => change({ ...draft.value, investigateOnFire: event.currentTarget.checked })}
            />{" "}
            Investigate when it fires
          </label>
        </div>
        <AlertPreview
          draft={previewed}
          onValues={(next) => {
            values.value = next;
          }}
        />
      </div>
    </div>
  );
}
