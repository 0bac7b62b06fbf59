/** What can be done with a value of a field: search with it, without it, show it as a column, copy it. */

import { editFilter } from "../found/filter.ts";
import { toggleColumn, wanted } from "../found/search-state.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";

export function FieldActions({ field, value }: { field: string; value: string }) {
  const isColumn = wanted.value.columns.includes(field);
  return (
    <span class="field-actions">
      <button
        type="button"
        class="quiet"
        title="Only rows with this value"
        aria-label={`Include ${field}`}
        onClick={() => void editFilter({ field, value, action: "include" })}
      >
        <Icon name="include" />
      </button>
      <button
        type="button"
        class="quiet"
        title="Without rows with this value"
        aria-label={`Exclude ${field}`}
        onClick={() => void editFilter({ field, value, action: "exclude" })}
      >
        <Icon name="exclude" />
      </button>
      {field === "log_level" ? null : (
        <button
          type="button"
          class="quiet"
          title="A column of this field"
          aria-label={`Column of ${field}`}
          aria-pressed={isColumn}
          onClick={() => toggleColumn(field)}
        >
          <Icon name="around" />
        </button>
      )}
      <CopyButton title={`Copy ${field}`} text={() => value} />
    </span>
  );
}
