/** Rows as they arrive. Scrolling down or opening a row makes the list stand still. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { heldRows, LiveTail, liveCount, liveProblem, liveRows } from "../found/live-rows.ts";
import { wanted } from "../found/search-state.ts";
import { nameCount } from "../ui/count.ts";
import { LogList } from "./log-list.tsx";

const nothing = () => undefined;

export function LiveTable() {
  const { query } = wanted.value;
  const tail = useRef<LiveTail | undefined>(undefined);
  const open = useSignal<readonly FoundLog[]>([]);
  const isScrolled = useSignal(false);
  const isStopped = useSignal(false);
  const isPaused = isStopped.value || isScrolled.value || open.value.length > 0;
  useEffect(() => {
    tail.current = new LiveTail(query);
    open.value = [];
    return () => tail.current!.close();
  }, [query]);
  useEffect(() => {
    tail.current!.isPaused = isPaused;
  }, [isPaused, query]);
  const goOn = () => {
    isStopped.value = false;
    isScrolled.value = false;
    open.value = [];
    document.querySelector(".virtual")?.scrollTo(0, 0);
  };
  return (
    <>
      <p class="live-bar" role="status">
        {liveProblem.value ?? (isPaused ? `Paused: ${heldRows.value.toLocaleString("en")} new` : "Live")}
        {`, ${nameCount(liveCount.value, "row")} so far `}
        {isPaused ? (
          <button type="button" onClick={goOn}>
            Go on
          </button>
        ) : (
          <button
            type="button"
            onClick={() => {
              isStopped.value = true;
            }}
          >
            Pause
          </button>
        )}
      </p>
      <LogList
        rows={liveRows.value}
        isStale={false}
        open={open}
        end={liveRows.value.length === 0 ? <p class="empty">Rows appear here as they arrive.</p> : null}
        onNearEnd={nothing}
        onScroll={(top) => {
          isScrolled.value = top > 4;
        }}
      />
    </>
  );
}
