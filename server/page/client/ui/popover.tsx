/** A box below the button that opens it, for what does not need a dialog. */

import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";

interface PopoverProps {
  id: string;
  /** Names the box for those who cannot see it. */
  label: string;
  /** What the button says. */
  button: ComponentChildren;
  title: string;
  /** The key that opens it, if there is one. */
  shortcut?: string;
  class?: string;
  box: RefObject<HTMLDivElement | null>;
  onOpen?(): void;
  children: ComponentChildren;
}

const marginPixels = 4;

export function Popover({
  id,
  label,
  button,
  title,
  shortcut,
  class: more = "",
  box,
  onOpen,
  children,
}: PopoverProps) {
  const opener = useRef<HTMLButtonElement>(null);
  const place = () => {
    const { bottom, right } = opener.current!.getBoundingClientRect();
    const { style, offsetWidth } = box.current!;
    const left = Math.min(right, innerWidth - marginPixels) - offsetWidth;
    style.left = `${Math.max(marginPixels, left)}px`;
    style.top = `${bottom + marginPixels}px`;
    style.maxHeight = `${innerHeight - bottom - 3 * marginPixels}px`;
  };
  return (
    <>
      <button
        ref={opener}
        type="button"
        id={id}
        popovertarget={`${id}-box`}
        aria-haspopup="dialog"
        {...(shortcut === undefined ? {} : { "aria-keyshortcuts": shortcut })}
        title={title}
      >
        {button}
      </button>
      <div
        ref={box}
        id={`${id}-box`}
        popover="auto"
        class={`popover ${more}`}
        role="dialog"
        aria-label={label}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          onOpen?.();
        }}
      >
        {children}
      </div>
    </>
  );
}
