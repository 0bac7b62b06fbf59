/** A box that scrolls where its table is wider; then keys reach it too. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface TableBoxProps {
  /** Names the box for those who cannot see it. */
  label: string;
  class?: string;
  children: ComponentChildren;
}

export function TableBox({ label, class: more = "", children }: TableBoxProps) {
  const box = useRef<HTMLElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const { current } = box;
    const watching = new ResizeObserver(() => {
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = current!;
      setScrolls(scrollWidth > clientWidth || scrollHeight > clientHeight);
    });
    watching.observe(current!);
    for (const child of current!.children) watching.observe(child);
    return () => watching.disconnect();
  }, []);
  return (
    <section ref={box} class={`table-box ${more}`} {...(scrolls ? { "aria-label": label, tabIndex: 0 } : {})}>
      {children}
    </section>
  );
}
