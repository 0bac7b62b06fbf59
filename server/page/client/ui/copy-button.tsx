/** Puts texts into the clipboard. */

import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Browsers offer the clipboard only to pages that came over TLS or from this machine; elsewhere a selection is copied. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  // What is outside an open dialog cannot be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  const focused = document.activeElement as HTMLElement | null;
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return isCopied;
}

interface CopyButtonProps {
  /** What the button says; without it the button has only its icon. */
  name?: string;
  icon?: "copy" | "link";
  /** What the button is for, where its name does not say it. */
  title?: string;
  class?: string;
  text(): string;
}

const toldMs = 2_000;

export function CopyButton({ name, icon = "copy", title, class: look = "quiet", text }: CopyButtonProps) {
  const [told, setTold] = useState<string | undefined>();
  useEffect(() => {
    if (told === undefined) return;
    const timer = setTimeout(() => setTold(undefined), toldMs);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = async () => {
    const isCopied = await copyText(text()).catch(() => false);
    setTold(isCopied ? "Copied" : "Not copied: the browser does not allow it");
  };
  return (
    <button
      type="button"
      class={look}
      {...(title === undefined ? {} : { title })}
      {...(name === undefined ? { "aria-label": title } : {})}
      onClick={() => void copy()}
    >
      <Icon name={icon} /> {told ?? name}
    </button>
  );
}
