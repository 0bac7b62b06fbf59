/** Chooses a range of time: one of the usual ones, or two ends. */

import { useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icon.tsx";
import { Popover } from "../ui/popover.tsx";
import { nameRange, presets, type RangeText, readTimeText, resolveTime } from "./range.ts";
import { clock } from "./zone.ts";

interface RangePickerProps {
  range: RangeText;
  onChange(range: RangeText): void;
}

export function RangePicker({ range, onChange }: RangePickerProps) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => box.current!.hidePopover();
  const choose = (next: RangeText) => {
    close();
    onChange(next);
  };
  return (
    <Popover
      box={box}
      id="range"
      label="Range of time"
      title="Range of time"
      shortcut="t"
      button={
        <>
          <Icon name="clock" /> {nameRange(range, clock.value.short)} <Icon name="down" />
        </>
      }
    >
      <ul>
        {presets.map(({ label, from }) => (
          <li key={from}>
            <button
              type="button"
              class="quiet"
              aria-pressed={range.from === from && range.to === "now"}
              onClick={() => choose({ from, to: "now" })}
            >
              {label}
            </button>
          </li>
        ))}
      </ul>
      <Ends key={`${range.from} ${range.to}`} range={range} onChange={choose} />
    </Popover>
  );
}

/** The two ends as texts: `-90m`, `now`, or a date and time. */
function Ends({ range, onChange }: RangePickerProps) {
  const { full, offsetMinutes, name } = clock.value;
  const show = (text: string) => (/^\d+$/.test(text) ? full(Number(text)) : text);
  const [from, setFrom] = useState(show(range.from));
  const [to, setTo] = useState(show(range.to));
  const [problem, setProblem] = useState("");
  /**
   * The end as the address has it; undefined where the text is none. A text that nobody has changed means what it did:
   * where clocks are set back, it alone does not say which of two times it is.
   */
  const read = (text: string, known: string): string | undefined => {
    if (text === show(known)) return known;
    const trimmed = text.trim();
    if (/^(?:now|-\d+[smhdw]|\d{10,15})$/.test(trimmed)) return trimmed;
    return readTimeText(trimmed, offsetMinutes)?.toString();
  };
  const apply = (event: Event) => {
    event.preventDefault();
    const [start, end] = [read(from, range.from), read(to, range.to)];
    if (start === undefined || end === undefined)
      return setProblem(`${start === undefined ? "From" : "To"} must be now, -90m, or 2026-11-23 16:42`);
    const nowMs = Date.now();
    if (resolveTime(start, nowMs)! > resolveTime(end, nowMs)!) return setProblem("From must not be after To");
    onChange({ from: start, to: end });
  };
  return (
    <form onSubmit={apply}>
      <label>
        From <input value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label>
        To <input value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <p class="hint">Times are in {name}.</p>
      {problem === "" ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="primary">
        Apply
      </button>
    </form>
  );
}
