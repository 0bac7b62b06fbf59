/** The list of suggestions below the editor. */

import type { Completions, Suggestion } from "./completions.ts";

interface CompletionListProps {
  completions: Completions;
  onAccept(suggestion: Suggestion): void;
}

export function CompletionList({ completions, onAccept }: CompletionListProps) {
  const { suggestions, active } = completions;
  if (suggestions.length === 0) return null;
  return (
    <div id="completions" class="completions" role="listbox" aria-label="Suggestions">
      {suggestions.map((suggestion, i) => (
        // The editor keeps the focus; keys choose through aria-activedescendant.
        // biome-ignore lint/a11y: see above
        <div
          key={suggestion.label}
          id={`completion-${i}`}
          role="option"
          aria-selected={i === active}
          onMouseDown={(event) => {
            event.preventDefault();
            onAccept(suggestion);
          }}
        >
          <bdi>{suggestion.label.slice(0, 200)}</bdi>
          <span class="share">{suggestion.note}</span>
        </div>
      ))}
    </div>
  );
}
