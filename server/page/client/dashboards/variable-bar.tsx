/** The variables of a dashboard: a chooser for each, whose value stands in the address. */

import { useEffect } from "preact/hooks";
import { useLoading } from "../api/loading.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import type { DashboardVariable } from "./answers.ts";
import { loadChoices, type QueryScope } from "./queries.ts";

/** The values that the address gives, or else the defaults. */
export function valuesOf(variables: readonly DashboardVariable[]): Record<string, string> {
  return Object.fromEntries(
    variables.map(({ name, defaultValue, values, overridable }) => {
      const given = overridable === false ? null : parameters.value.get(`var-${name}`);
      return [name, given ?? (defaultValue || values?.[0]) ?? ""];
    }),
  );
}

export function VariableBar({
  variables,
  scope,
}: {
  variables: readonly DashboardVariable[];
  scope: QueryScope;
}) {
  if (variables.length === 0) return null;
  return (
    <div class="variables">
      {variables.map((variable) => (
        <Chooser key={variable.name} variable={variable} scope={scope} />
      ))}
    </div>
  );
}

function Chooser({ variable, scope }: { variable: DashboardVariable; scope: QueryScope }) {
  const { name, overridable } = variable;
  const loading = useLoading((asked: QueryScope, signal: AbortSignal) =>
    loadChoices(variable, asked, signal),
  );
  // The variable's own value does not change its choices.
  const { [name]: value = "", ...others } = scope.variables;
  useEffect(
    () => void loading.load(scope),
    [scope.startTime, scope.endTime, JSON.stringify([others, variable])],
  );
  const choices = loading.answer.value ?? variable.values ?? [];
  if (overridable === false)
    return (
      <span class="variable">
        {name}: <bdi>{value}</bdi>
      </span>
    );
  const choose = (next: string) => go(withParameters({ [`var-${name}`]: next }));
  return (
    <div class="variable">
      <label for={`var-${name}`}>{name}</label>
      {choices.length === 0 ? (
        <input id={`var-${name}`} value={value} onChange={(event) => choose(event.currentTarget.value)} />
      ) : (
        <select id={`var-${name}`} value={value} onChange={(event) => choose(event.currentTarget.value)}>
          {choices.includes(value) ? null : <option value={value}>{value === "" ? "(none)" : value}</option>}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {loading.problem.value === undefined ? null : (
        <span class="problem small">{loading.problem.value.message}</span>
      )}
    </div>
  );
}
