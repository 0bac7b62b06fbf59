/** What an investigation of a fire found, and the way to ask for one. */

import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import type { AlertFire, InvestigationOfFire } from "./answers.ts";

/** A window around the begin of a fire. */
const [beforeMs, afterMs] = [120_000, 180_000];

export function FireInvestigation({ fire: { fireId, firedAt } }: { fire: AlertFire }) {
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ investigations: InvestigationOfFire[] }>(
      `/api/v1/investigations?fireId=${encodeURIComponent(fireId)}`,
      { signal },
    ),
  );
  useEffect(() => void loading.load(undefined), [fireId]);
  const found = loading.answer.value?.investigations;
  if (found === undefined) return null;
  const window = new URLSearchParams({ from: String(firedAt - beforeMs), to: String(firedAt + afterMs) });
  if (found.length === 0)
    return (
      <p>
        <a href={`/investigations?${window}`}>Investigate the cause</a>
      </p>
    );
  return (
    <>
      {found.map(({ id, summary, problem }) => (
        <p key={id}>
          Investigation:{" "}
          <a href={`/investigations/${encodeURIComponent(id)}`}>
            <bdi>{summary ?? problem ?? "no answer"}</bdi>
          </a>
        </p>
      ))}
    </>
  );
}
