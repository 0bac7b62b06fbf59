/** Rows of logs as a list: lines that open, by mouse and by keys. */

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { wanted } from "../found/search-state.ts";
import { clock } from "../time/zone.ts";
import { Icon } from "../ui/icon.tsx";
import { isPageKey } from "../ui/keys.ts";
import { type ListPlace, VirtualList } from "../ui/virtual-list.tsx";
import { styleOfLevel } from "./level-colour.ts";
import { RowDetail } from "./row-detail.tsx";

const rowHeight = 22;
/** Characters of a message that its line shows; the rest is out of sight. */
const lineCharactersMax = 400;

interface LogListProps {
  rows: readonly FoundLog[];
  isStale: boolean;
  /** Open rows. They stay open wherever they move to. */
  open: Signal<readonly FoundLog[]>;
  /** Stands after the last row. */
  end: ComponentChildren;
  onNearEnd(): void;
  /** Called with the pixels that are scrolled out of sight above. */
  onScroll?(top: number): void;
  /** Where the list begins. */
  place?: ListPlace;
}

export function LogList({ rows, isStale, open, end, onNearEnd, onScroll, place }: LogListProps) {
  const focused = useSignal<number | undefined>(undefined);
  const { columns } = wanted.value;
  const openRows = open.value;
  const openIndices = openRows
    .map((row) => rows.indexOf(row))
    .filter((index) => index !== -1)
    .sort((a, b) => a - b);
  const toggle = (index: number) => {
    focused.value = index;
    const row = rows[index]!;
    open.value = openRows.includes(row) ? openRows.filter((each) => each !== row) : [...openRows, row];
  };
  const move = (by: number) => {
    const next = focused.value === undefined ? 0 : focused.value + by;
    focused.value = Math.min(rows.length - 1, Math.max(0, next));
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isPageKey(event)) return;
      if (event.key === "j") move(1);
      else if (event.key === "k") move(-1);
      else if (event.key === "Enter" && focused.value !== undefined && !isControl(event.target))
        toggle(focused.value);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
  return (
    <div class={isStale ? "rows stale" : "rows"}>
      <VirtualList
        count={rows.length}
        rowHeight={rowHeight}
        open={openIndices}
        label="Rows"
        focused={focused.value}
        row={(index) => (
          <RowLine
            row={rows[index]!}
            columns={columns}
            isOpen={openRows.includes(rows[index]!)}
            isFocused={focused.value === index}
            onClick={() => toggle(index)}
          />
        )}
        detail={(index) => <RowDetail row={rows[index]!} />}
        end={end}
        onNearEnd={onNearEnd}
        {...(onScroll === undefined ? {} : { onScroll })}
        {...(place === undefined ? {} : { place })}
      />
    </div>
  );
}

interface RowLineProps {
  row: FoundLog;
  columns: readonly string[];
  isOpen: boolean;
  isFocused: boolean;
  onClick(): void;
}

function RowLine({ row, columns, isOpen, isFocused, onClick }: RowLineProps) {
  const { timestamp, log_level: level, message, attributes } = row;
  const onLine = () => getSelection()?.isCollapsed !== false && onClick();
  return (
    // The button opens the row for those who use keys; a click anywhere on the line is a convenience.
    // biome-ignore lint/a11y: see above
    <div
      class="row-line"
      data-focused={isFocused || undefined}
      style={{ "--level": `var(${styleOfLevel(level).colour})` }}
      onClick={onLine}
    >
      <button
        type="button"
        class="opener"
        tabIndex={isFocused ? 0 : -1}
        aria-expanded={isOpen}
        aria-label="Details"
      >
        <Icon name={isOpen ? "down" : "right"} />
      </button>
      <span class="time">{clock.value.full(timestamp)}</span>
      <span class="level">{level}</span>
      {columns.map((name) => (
        <bdi key={name} class="column" title={attributes[name]}>
          {(attributes[name] ?? "").slice(0, lineCharactersMax)}
        </bdi>
      ))}
      <bdi class="message">{message.slice(0, lineCharactersMax)}</bdi>
    </div>
  );
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("a, button, summary");
}
