/** The form of a dashboard itself: its title, its folder, its range, and its variables. */

import { useSignal } from "@preact/signals";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import type { DashboardVariable, KeptDashboard } from "./answers.ts";

interface SettingsFormProps {
  dashboard: KeptDashboard;
  onSave(dashboard: KeptDashboard): void;
  onClose(): void;
}

export function SettingsForm({ dashboard, onSave, onClose }: SettingsFormProps) {
  const draft = useSignal(dashboard);
  const { metadata, settings, content } = draft.value;
  const variables = content?.variables ?? [];
  const setVariables = (next: DashboardVariable[]) => {
    draft.value = { ...draft.value, content: { ...content, variables: next } };
  };
  const setMetadata = (changes: Partial<KeptDashboard["metadata"]>) => {
    draft.value = { ...draft.value, metadata: { ...metadata, ...changes } };
  };
  return (
    <Dialog title="Dashboard" onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          onSave(draft.value);
        }}
      >
        <Field label="Title">
          {(attributes) => (
            <input
              {...attributes}
              required
              value={metadata.title}
              onInput={(event) => setMetadata({ title: event.currentTarget.value })}
            />
          )}
        </Field>
        <div class="fields">
          <Field label="Folder">
            {(attributes) => (
              <input
                {...attributes}
                value={metadata.folderPath ?? "/dashboards/"}
                onInput={(event) => setMetadata({ folderPath: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="Usual range" hint="Such as 1h or 30m">
            {(attributes) => (
              <input
                {...attributes}
                value={settings?.defaultTimeRange ?? ""}
                onInput={(event) => {
                  draft.value = {
                    ...draft.value,
                    settings: { ...settings, defaultTimeRange: event.currentTarget.value || "1h" },
                  };
                }}
              />
            )}
          </Field>
        </div>
        {variables.map((variable, i) => (
          <VariableFields
            key={i}
            variable={variable}
            onChange={(next) => setVariables(variables.with(i, next))}
            onRemove={() => setVariables(variables.toSpliced(i, 1))}
          />
        ))}
        <button
          type="button"
          onClick={() =>
            setVariables([...variables, { name: `variable${variables.length + 1}`, overridable: true }])
          }
        >
          Add a variable
        </button>
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

interface VariableFieldsProps {
  variable: DashboardVariable;
  onChange(variable: DashboardVariable): void;
  onRemove(): void;
}

function VariableFields({ variable, onChange, onRemove }: VariableFieldsProps) {
  const { selectorSettings = {} } = variable;
  return (
    <fieldset class="group">
      <legend>Variable ${variable.name}</legend>
      <div class="fields">
        <Field label="Name">
          {(attributes) => (
            <input
              {...attributes}
              value={variable.name}
              onInput={(event) => onChange({ ...variable, name: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Value at first">
          {(attributes) => (
            <input
              {...attributes}
              value={variable.defaultValue ?? ""}
              onInput={(event) => onChange({ ...variable, defaultValue: event.currentTarget.value })}
            />
          )}
        </Field>
      </div>
      <div class="fields">
        <Field label="Values of the attribute">
          {(attributes) => (
            <input
              {...attributes}
              value={selectorSettings.attribute ?? ""}
              onInput={(event) =>
                onChange({
                  ...variable,
                  selectorSettings: { ...selectorSettings, attribute: event.currentTarget.value },
                })
              }
            />
          )}
        </Field>
        <Field label="of the signal or metric">
          {(attributes) => (
            <input
              {...attributes}
              placeholder="logs"
              value={selectorSettings.metricName ?? ""}
              onInput={(event) =>
                onChange({
                  ...variable,
                  selectorSettings: { ...selectorSettings, metricName: event.currentTarget.value || "logs" },
                })
              }
            />
          )}
        </Field>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={variable.overridable !== false}
          onChange={(event) => onChange({ ...variable, overridable: event.currentTarget.checked })}
        />{" "}
        people may choose another value
      </label>
      <button type="button" onClick={onRemove}>
        Remove variable
      </button>
    </fieldset>
  );
}
