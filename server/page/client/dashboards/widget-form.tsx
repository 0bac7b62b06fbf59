/** The form of one widget: what it shows, by which queries, and how. */

import { useSignal } from "@preact/signals";
import { QueryEditor } from "../query/query-editor.tsx";
import { makeStoredNames } from "../query/stored-names.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { contentOf, type KeptWidget, type WidgetContent, widgetTypes } from "./answers.ts";
import type { QueryScope } from "./queries.ts";
import { WidgetBody } from "./widget-body.tsx";

interface WidgetFormProps {
  widget: KeptWidget;
  scope: QueryScope;
  onSave(widget: KeptWidget): void;
  onClose(): void;
}

const typeNames: Readonly<Record<string, string>> = {
  chart: "Chart",
  stat: "Newest value",
  table: "Table",
  log: "Rows of logs",
  gauge: "Gauge",
  barGauge: "Bars",
  pie: "Shares",
  trace: "Traces",
  markdown: "Text",
  group: "Group of widgets",
};

export function WidgetForm({ widget, scope, onSave, onClose }: WidgetFormProps) {
  /** What is kept: the queries as they are typed. */
  const draft = useSignal(widget);
  /** The queries that ran last, which the preview shows. */
  const run = useSignal(contentOf(widget).expression);
  const { type } = draft.value;
  const content = contentOf(draft.value);
  const change = (changes: Partial<WidgetContent>) => {
    draft.value = { ...draft.value, [type]: { ...content, ...changes } };
  };
  /** Another type shows what the one before showed, as far as it can. */
  const setType = (next: string) => {
    const { [type]: before, ...rest } = draft.value;
    const kept = next === "chart" ? { chartType: "line", ...(before as object) } : before;
    draft.value = { ...rest, type: next, [next]: kept };
    run.value = contentOf(draft.value).expression;
  };
  const previewed = { ...draft.value, [type]: { ...content, expression: run.value } };
  const hasQueries = type !== "markdown" && type !== "group";
  return (
    <Dialog title="Widget" onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          onSave(draft.value);
        }}
      >
        <div class="fields">
          <Field label="Title">
            {(attributes) => (
              <input
                {...attributes}
                value={content.title ?? ""}
                onInput={(event) => change({ title: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="Shown as">
            {(attributes) => (
              <select {...attributes} value={type} onChange={(event) => setType(event.currentTarget.value)}>
                {widgetTypes.map((each) => (
                  <option key={each} value={each}>
                    {typeNames[each]}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {type === "chart" ? (
            <Field label="Drawn as">
              {(attributes) => (
                <select
                  {...attributes}
                  value={content.chartType ?? "line"}
                  onChange={(event) => change({ chartType: event.currentTarget.value as "line" })}
                >
                  <option value="line">Lines</option>
                  <option value="area">Areas</option>
                  <option value="bar">Bars</option>
                </select>
              )}
            </Field>
          ) : null}
        </div>
        <Field label="Description">
          {(attributes) => (
            <input
              {...attributes}
              value={content.description ?? ""}
              onInput={(event) => change({ description: event.currentTarget.value })}
            />
          )}
        </Field>
        {type === "markdown" ? (
          <Field
            label="Text"
            hint="Markdown: # headings, - lists, **bold**, `code`, [links](https://example.com)"
          >
            {(attributes) => (
              <textarea
                {...attributes}
                rows={8}
                value={content.content ?? ""}
                onInput={(event) => change({ content: event.currentTarget.value })}
              />
            )}
          </Field>
        ) : null}
        {hasQueries ? (
          <Queries
            type={type}
            expression={content.expression}
            run={run.value}
            scope={scope}
            onType={(expression) => change({ expression })}
            onRun={(expression) => {
              change({ expression });
              run.value = expression;
            }}
          />
        ) : null}
        {type === "gauge" || type === "barGauge" ? <Scale content={content} onChange={change} /> : null}
        {type === "group" ? null : (
          <section class="widget-preview" aria-label="Preview">
            <WidgetBody widget={previewed} scope={scope} onBrush={() => undefined} />
          </section>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Done
          </button>
        </div>
      </form>
    </Dialog>
  );
}

type Expression = NonNullable<WidgetContent["expression"]>;

interface QueriesProps {
  type: string;
  /** The queries as they are typed. */
  expression: Expression | undefined;
  /** The queries that ran last. */
  run: Expression | undefined;
  scope: QueryScope;
  onType(expression: Expression): void;
  onRun(expression: Expression): void;
}

function Queries({ type, expression, run, scope, onType, onRun }: QueriesProps) {
  const names = useSignal(makeStoredNames(() => scope)).value;
  /** Editors after a removed one begin anew, each with its own text. */
  const removals = useSignal(0);
  const queries = expression?.svcQLQueries ?? [];
  const withQueries = (next: typeof queries): Expression => ({
    ...{ ...expression, queryMode: "svcql", svcQLQueries: next },
  });
  const isSeries = !["log", "trace", "table"].includes(type);
  const remove = (i: number) => {
    onRun(withQueries(queries.toSpliced(i, 1)));
    removals.value++;
  };
  return (
    <fieldset class="group">
      <legend>Queries</legend>
      {queries.map((each, i) => (
        <div key={i} class="widget-query">
          <QueryEditor
            key={removals.value}
            query={run?.svcQLQueries?.[i]?.query ?? each.query}
            what={isSeries ? "series" : "rows"}
            names={names}
            onType={(query) => onType(withQueries(queries.with(i, { ...each, query })))}
            onRun={(query) => onRun(withQueries(queries.with(i, { ...each, query })))}
          />
          {queries.length > 1 ? (
            <button type="button" onClick={() => remove(i)}>
              Remove query
            </button>
          ) : null}
        </div>
      ))}
      {isSeries || queries.length === 0 ? (
        <button type="button" onClick={() => onRun(withQueries([...queries, { query: "count(logs)" }]))}>
          {queries.length === 0 ? "Add a query" : "Another query"}
        </button>
      ) : null}
    </fieldset>
  );
}

interface ScaleProps {
  content: WidgetContent;
  onChange(changes: Partial<WidgetContent>): void;
}

function Scale({ content, onChange }: ScaleProps) {
  const read = (text: string) => (text === "" ? undefined : Number(text));
  return (
    <div class="fields">
      <Field label="Least">
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            step="any"
            value={content.min ?? ""}
            onInput={(event) => onChange({ min: read(event.currentTarget.value)! })}
          />
        )}
      </Field>
      <Field label="Greatest">
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            step="any"
            value={content.max ?? ""}
            onInput={(event) => onChange({ max: read(event.currentTarget.value)! })}
          />
        )}
      </Field>
    </div>
  );
}
