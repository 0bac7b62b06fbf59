/** How the server answers the present search: its plan and what it reads, and the same question for a terminal. */

import { useRef } from "preact/hooks";
import { loadChunk } from "../api/chunk.ts";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { rowPaths } from "../found/rows-page.ts";
import { run, type SearchRun } from "../found/search-state.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Popover } from "../ui/popover.tsx";
import { TableBox } from "../ui/table-box.tsx";

type Language = typeof import("../query/language.ts");
interface ExplainedAnswer {
  explain: Parameters<Language["printExplanation"]>[0];
}

const bodyOf = ({ signal: _, ...asked }: SearchRun) => ({ ...asked, limit: 100 });

async function explain(asked: SearchRun, signal: AbortSignal): Promise<string> {
  const body = { ...bodyOf(asked), explain: true };
  const [answer, { printExplanation }] = await Promise.all([
    ask<ExplainedAnswer>(rowPaths[asked.signal], { body, signal }),
    loadChunk(() => import("../query/language.ts")),
  ]);
  return printExplanation(answer.explain);
}

/** A shell command that asks the same. */
function writeCurl(asked: SearchRun): string {
  const body = JSON.stringify(bodyOf(asked)).replaceAll("'", "'\\''");
  const headers = "-H \"Authorization: Bearer $(cat data/admin-token)\" -H 'Content-Type: application/json'";
  return `curl -s ${location.origin}${rowPaths[asked.signal]} ${headers} -d '${body}'`;
}

export function RunExplanation() {
  const box = useRef<HTMLDivElement>(null);
  const loading = useLoading(explain);
  const started = run.value;
  if (started === undefined) return null;
  return (
    <Popover
      id="explanation"
      label="How the search runs"
      button="How"
      title="How the server answers this search"
      box={box}
      onOpen={() => void loading.load(started)}
    >
      <TableBox label="The plan" class="explanation">
        <pre>{loading.problem.value?.message ?? loading.answer.value ?? "Asking…"}</pre>
      </TableBox>
      <CopyButton name="Copy as curl" text={() => writeCurl(started)} />
    </Popover>
  );
}
