/** Sends a test message to all that an alert tells, and says what became of each. */

import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { Dialog } from "../ui/dialog.tsx";

interface TestAnswer {
  results: { type: string; delivered?: boolean; problem?: string | null }[];
}

export function TestDialog({ alertId, onClose }: { alertId: string; onClose(): void }) {
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<TestAnswer>(`/api/v1/alerts/${encodeURIComponent(alertId)}/test-notification`, {
      ...{ method: "POST", body: {}, signal },
    }),
  );
  useEffect(() => void loading.load(undefined), [alertId]);
  const results = loading.answer.value?.results;
  return (
    <Dialog title="Test notification" onClose={onClose}>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {loading.isLoading.value ? <p role="status">Sending…</p> : null}
      {results === undefined ? null : results.length === 0 ? (
        <p>The alert tells nobody: its rules have no actions.</p>
      ) : (
        <ul role="status">
          {results.map(({ type, problem }, i) => (
            <li key={`${i} ${type}`}>
              {type}: {problem == null ? "delivered" : <span class="breach">{problem}</span>}
            </li>
          ))}
        </ul>
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
