/** A list of which only the visible rows are in the document. Rows are equally high, except those that are open. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

/** Where a list stands, for when it is taken away and shown again. */
export interface ListPlace {
  /** Pixels that are scrolled out of sight above. */
  top: number;
  /** Pixels of the open rows' details, by the index of the row. */
  heights: ReadonlyMap<number, number>;
}

interface VirtualListProps {
  count: number;
  /** Pixels of a closed row. */
  rowHeight: number;
  /** Indices of open rows, ascending. */
  open: readonly number[];
  label: string;
  /** Draws a row; its root element must be `rowHeight` high, plus `openHeight` where it is open. */
  row(index: number): ComponentChildren;
  /** Draws what stands below the row's line where it is open. */
  detail(index: number): ComponentChildren;
  /** Draws what stands after the last row. */
  end: ComponentChildren;
  /** Called when the last rows come into sight. */
  onNearEnd(): void;
  /** Called with the pixels that are scrolled out of sight above. */
  onScroll?(top: number): void;
  /** The row that is to be in sight. */
  focused: number | undefined;
  /** The list begins at this place, and keeps it up to date. */
  place?: ListPlace;
}

/** Rows above and below the visible ones, so that quick scrolling shows no gap. */
const spareRows = 12;
/** Assumed until an open row was measured. */
const openHeightDefault = 300;

export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, open, label, row, detail, end, onNearEnd, onScroll, focused } = props;
  const place = useRef<ListPlace>({ top: 0, heights: new Map() });
  if (props.place !== undefined) place.current = props.place;
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [heights, setHeights] = useState(place.current.heights);
  place.current.heights = heights;
  const offsets = useMemo(() => new Offsets(rowHeight, open, heights), [rowHeight, open, heights]);

  useLayoutEffect(() => {
    const element = frame.current!;
    element.scrollTop = place.current.top;
    const measure = () => {
      place.current.top = element.scrollTop;
      setView({ top: element.scrollTop, height: element.clientHeight });
      onScroll?.(element.scrollTop);
    };
    measure();
    const watching = new ResizeObserver(measure);
    watching.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      watching.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  const first = Math.max(0, offsets.indexAt(view.top) - spareRows);
  const last = Math.min(count, offsets.indexAt(view.top + view.height) + spareRows + 1);
  useEffect(() => {
    if (last >= count) onNearEnd();
  }, [last, count, onNearEnd]);

  useLayoutEffect(() => {
    if (focused === undefined) return;
    const element = frame.current!;
    const top = offsets.topOf(focused);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
  }, [focused]);

  const rows = [];
  for (let index = first; index < last; index++) {
    const isOpen = offsets.isOpen(index);
    rows.push(
      <li
        key={index}
        aria-setsize={count}
        aria-posinset={index + 1}
        class="virtual-row"
        style={{ transform: `translateY(${offsets.topOf(index)}px)` }}
      >
        {row(index)}
        {isOpen ? (
          <Measured index={index} setHeights={setHeights}>
            {detail(index)}
          </Measured>
        ) : null}
      </li>,
    );
  }
  return (
    <section ref={frame} class="virtual" aria-label={label}>
      <ol class="virtual-space" style={{ height: `${offsets.topOf(count)}px` }}>
        {rows}
      </ol>
      {end}
    </section>
  );
}

interface MeasuredProps {
  index: number;
  setHeights(change: (before: ReadonlyMap<number, number>) => ReadonlyMap<number, number>): void;
  children: ComponentChildren;
}

/** Tells the height of an open row's detail whenever it changes. */
function Measured({ index, setHeights, children }: MeasuredProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    const watching = new ResizeObserver(() => {
      const { offsetHeight } = element;
      setHeights((before) =>
        before.get(index) === offsetHeight ? before : new Map(before).set(index, offsetHeight),
      );
    });
    watching.observe(element);
    return () => watching.disconnect();
  }, [index]);
  return <div ref={box}>{children}</div>;
}

/** Where rows stand, in pixels from the top of the list. */
class Offsets {
  readonly #rowHeight: number;
  readonly #open: readonly number[];
  /** Pixels of details above each open row. */
  readonly #above: number[] = [];
  #total = 0;

  constructor(rowHeight: number, open: readonly number[], heights: ReadonlyMap<number, number>) {
    this.#rowHeight = rowHeight;
    this.#open = open;
    for (const index of open) {
      this.#above.push(this.#total);
      this.#total += heights.get(index) ?? openHeightDefault;
    }
  }

  isOpen(index: number): boolean {
    return this.#open.includes(index);
  }

  topOf(index: number): number {
    const later = this.#open.findIndex((each) => each >= index);
    return index * this.#rowHeight + (later === -1 ? this.#total : this.#above[later]!);
  }

  /** The row at a height. */
  indexAt(y: number): number {
    let low = 0;
    let high = Math.ceil(y / this.#rowHeight) + 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.topOf(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
