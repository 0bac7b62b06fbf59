/** What is compared with what: two windows of time, and two searches beside the common one. */

import { useState } from "preact/hooks";
import { type ComparedSide, type ComparedSides, compareSides } from "../found/compared-windows.ts";
import { readTimeText } from "../time/range.ts";
import { clock } from "../time/zone.ts";

interface SideText {
  from: string;
  to: string;
  query: string;
}

const hourMs = 3_600_000;
const earlier: readonly [string, number][] = [
  ["an hour earlier", hourMs],
  ["a day earlier", 24 * hourMs],
  ["a week earlier", 168 * hourMs],
];

export function CompareForm({ sides }: { sides: ComparedSides }) {
  const { full, offsetMinutes } = clock.value;
  const write = ({ startTime, endTime, query }: ComparedSide): SideText => {
    return { from: full(startTime), to: full(endTime), query };
  };
  const [selection, setSelection] = useState(write(sides.selection));
  const [baseline, setBaseline] = useState(write(sides.baseline));
  const [problem, setProblem] = useState("");
  /** A time that nobody has changed stays: where clocks are set back, its text does not say which of two times it is. */
  const readTime = (text: string, known: number) =>
    text === full(known) ? known : readTimeText(text, offsetMinutes);
  const read = ({ from, to, query }: SideText, known: ComparedSide): ComparedSide | undefined => {
    const [startTime, endTime] = [readTime(from, known.startTime), readTime(to, known.endTime)];
    if (startTime === undefined || endTime === undefined || startTime > endTime) return undefined;
    return { startTime, endTime, query };
  };
  const compare = (event: Event) => {
    event.preventDefault();
    const [own, usual] = [read(selection, sides.selection), read(baseline, sides.baseline)];
    if (own === undefined || usual === undefined)
      return setProblem("A time is such as 2026-11-23 16:42, and the first must not be after the second");
    setProblem("");
    compareSides({ selection: own, baseline: usual });
  };
  const shift = (byMs: number) => {
    const { startTime, endTime } = sides.selection;
    compareSides({
      selection: sides.selection,
      baseline: { ...sides.baseline, startTime: startTime - byMs, endTime: endTime - byMs },
    });
  };
  return (
    <form class="compare-form" onSubmit={compare}>
      <Side name="Look into" mark="a" side={selection} onChange={setSelection} />
      <Side name="Compare with" mark="b" side={baseline} onChange={setBaseline} />
      <div class="compare-buttons">
        <button type="submit" class="primary">
          Compare
        </button>
        <span class="hint">Or with the same window</span>
        {earlier.map(([name, byMs]) => (
          <button key={name} type="button" class="quiet" onClick={() => shift(byMs)}>
            {name}
          </button>
        ))}
      </div>
      {problem === "" ? null : (
        <p class="problem small" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

interface SideProps {
  name: string;
  mark: "a" | "b";
  side: SideText;
  onChange(side: SideText): void;
}

function Side({ name, mark, side, onChange }: SideProps) {
  const input = (key: keyof SideText, label: string, placeholder = "") => (
    <input
      aria-label={`${name}: ${label}`}
      class={key === "query" ? "mono" : "when"}
      value={side[key]}
      placeholder={placeholder}
      spellcheck={false}
      onInput={(event) => onChange({ ...side, [key]: event.currentTarget.value })}
    />
  );
  return (
    <fieldset>
      <legend>
        <span class={`window-name window-${mark}`}>{mark.toUpperCase()}</span> {name}
      </legend>
      {input("from", "from")} to {input("to", "to")} {input("query", "rows that", "all rows of the search")}
    </fieldset>
  );
}
