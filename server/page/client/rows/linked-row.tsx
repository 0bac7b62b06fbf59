/** The row that the address points at, above the list: whoever opens the link sees it at once. */

import { useEffect } from "preact/hooks";
import type { AroundAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { forgetRow } from "../found/search-state.ts";
import { clock } from "../time/zone.ts";
import { Icon } from "../ui/icon.tsx";
import { RowDetail } from "./row-detail.tsx";

const linked = makeLoading<string, AroundAnswer>((id, signal) =>
  ask("/api/v1/query/around", { body: { id, before: 0, after: 0 }, signal }),
);

export function LinkedRow({ id }: { id: string }) {
  useEffect(() => {
    linked.clear();
    void linked.load(id);
  }, [id]);
  const answer = linked.answer.value;
  if (linked.problem.value !== undefined) return <p class="problem">{linked.problem.value.message}</p>;
  if (answer === undefined) return null;
  return (
    <section class="linked-row" aria-label="The row of this link">
      <header>
        {clock.value.full(answer.row.timestamp)}
        <span class="grow" />
        <button type="button" class="quiet" aria-label="Close the row of this link" onClick={forgetRow}>
          <Icon name="close" />
        </button>
      </header>
      <RowDetail row={answer.row} />
    </section>
  );
}
