/** The fields of one rule: when it fires, and whom it tells. */

import { Field } from "../ui/field.tsx";
import { ActionFields } from "./action-fields.tsx";
import { newAction, withOperator } from "./alert-draft.ts";
import type { AlertRule, Persistence } from "./answers.ts";
import { operatorSigns } from "./names.ts";

interface RuleFieldsProps {
  rule: AlertRule;
  /** The greatest and least value of the preview, for the slider. */
  values: { least: number; greatest: number } | undefined;
  /** The problem of a member below the rule, such as `.name`. */
  problemAt(member: string): string | undefined;
  onChange(rule: AlertRule): void;
  onRemove: (() => void) | undefined;
}

const missingNames: readonly [string, string][] = [
  ["notBreaching", "they do not breach"],
  ["breaching", "they breach"],
  ["ignore", "the state stays"],
  ["missing", "the state is no data"],
];

export function RuleFields({ rule, values, problemAt, onChange, onRemove }: RuleFieldsProps) {
  const { operators, persistenceSettings } = rule.static;
  const persist = (changes: Partial<Persistence>) =>
    onChange({
      ...rule,
      static: { ...rule.static, persistenceSettings: { ...persistenceSettings, ...changes } },
    });
  const addOperator = () =>
    onChange({
      ...rule,
      static: { ...rule.static, operators: [...operators, { operator: "lessThan", threshold: 100 }] },
    });
  const removeOperator = (index: number) =>
    onChange({ ...rule, static: { ...rule.static, operators: operators.toSpliced(index, 1) } });
  return (
    <fieldset class="group">
      <legend>Rule</legend>
      <div class="fields">
        <Field label="Name" problem={problemAt(".name")}>
          {(attributes) => (
            <input
              {...attributes}
              value={rule.name}
              onInput={(event) => onChange({ ...rule, name: event.currentTarget.value })}
            />
          )}
        </Field>
        {onRemove === undefined ? null : (
          <button type="button" onClick={onRemove}>
            Remove rule
          </button>
        )}
      </div>
      {operators.map((operator, i) => (
        <OperatorFields
          key={i}
          operator={operator}
          values={values}
          problem={problemAt(`.static.operators[${i}]`)}
          onChange={(next) => onChange(withOperator(rule, i, next))}
          onRemove={operators.length > 1 ? () => removeOperator(i) : undefined}
        />
      ))}
      <button type="button" class="quiet" onClick={addOperator}>
        Another condition
      </button>
      <PersistenceFields
        settings={persistenceSettings}
        problem={problemAt(".static.persistenceSettings")}
        onChange={persist}
      />
      <Actions rule={rule} problemAt={problemAt} onChange={onChange} />
    </fieldset>
  );
}

interface OperatorFieldsProps {
  operator: AlertRule["static"]["operators"][number];
  values: RuleFieldsProps["values"];
  problem: string | undefined;
  onChange(operator: AlertRule["static"]["operators"][number]): void;
  onRemove: (() => void) | undefined;
}

function OperatorFields({ operator, values, problem, onChange, onRemove }: OperatorFieldsProps) {
  const { threshold } = operator;
  const setThreshold = (text: string) => {
    const next = Number(text);
    if (text !== "" && Number.isFinite(next)) onChange({ ...operator, threshold: next });
  };
  const least = Math.min(0, threshold, values?.least ?? 0);
  const greatest = Math.max(1, threshold, (values?.greatest ?? 1) * 1.2);
  return (
    <div class="fields">
      <Field label="A point breaches where it is" problem={problem}>
        {(attributes) => (
          <select
            {...attributes}
            value={operator.operator}
            onChange={(event) => onChange({ ...operator, operator: event.currentTarget.value })}
          >
            {Object.entries(operatorSigns).map(([name, sign]) => (
              <option key={name} value={name}>
                {sign}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Threshold">
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            step="any"
            value={threshold}
            onInput={(event) => setThreshold(event.currentTarget.value)}
          />
        )}
      </Field>
      <input
        class="threshold-slider"
        type="range"
        aria-label="Threshold, along the values of the preview"
        min={least}
        max={greatest}
        step={(greatest - least) / 200}
        value={threshold}
        onInput={(event) => setThreshold(String(Number(Number(event.currentTarget.value).toPrecision(3))))}
      />
      {onRemove === undefined ? null : (
        <button type="button" onClick={onRemove}>
          Remove condition
        </button>
      )}
    </div>
  );
}

interface PersistenceFieldsProps {
  settings: Persistence;
  problem: string | undefined;
  onChange(changes: Partial<Persistence>): void;
}

function PersistenceFields({ settings, problem, onChange }: PersistenceFieldsProps) {
  const readCount = (text: string, name: "datapointsToAlarm" | "datapointsInEvaluationWindow") => {
    const count = Number(text);
    if (Number.isInteger(count) && count > 0) onChange({ [name]: count });
  };
  return (
    <div class="fields">
      <Field label="Fires when this many points" problem={problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min={1}
            value={settings.datapointsToAlarm}
            onInput={(event) => readCount(event.currentTarget.value, "datapointsToAlarm")}
          />
        )}
      </Field>
      <Field label="of the newest breach">
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min={1}
            value={settings.datapointsInEvaluationWindow}
            onInput={(event) => readCount(event.currentTarget.value, "datapointsInEvaluationWindow")}
          />
        )}
      </Field>
      <Field label="Where points are missing">
        {(attributes) => (
          <select
            {...attributes}
            value={settings.missingDatapointBehavior ?? "notBreaching"}
            onChange={(event) => onChange({ missingDatapointBehavior: event.currentTarget.value })}
          >
            {missingNames.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}

const actionTypes: readonly [string, string][] = [
  ["slack", "Slack"],
  ["email", "e-mail"],
  ["pagerDuty", "PagerDuty"],
  ["webhook", "webhook"],
];

function Actions({ rule, problemAt, onChange }: Pick<RuleFieldsProps, "rule" | "problemAt" | "onChange">) {
  const actions = rule.actions ?? [];
  return (
    <>
      {actions.map((action, i) => (
        <ActionFields
          key={i}
          action={action}
          problem={problemAt(`.actions[${i}]`)}
          onChange={(next) => onChange({ ...rule, actions: actions.with(i, next) })}
          onRemove={() => onChange({ ...rule, actions: actions.toSpliced(i, 1) })}
        />
      ))}
      <p class="add-actions">
        Tell also:{" "}
        {actionTypes.map(([type, name]) => (
          <button
            key={type}
            type="button"
            onClick={() => onChange({ ...rule, actions: [...actions, newAction(type)] })}
          >
            {name}
          </button>
        ))}
      </p>
    </>
  );
}
