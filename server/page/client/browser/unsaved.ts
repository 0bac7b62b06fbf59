/** Edits that are not saved yet: whoever leaves them is asked before they are lost. */

import { useEffect, useRef } from "preact/hooks";
import { askBeforeLeaving, path } from "./address.ts";

interface Unsaved {
  hasChanges(): boolean;
  /** Whether the edits are kept where only the parameters of the address change. Absent: always. */
  staysAt?(next: URL): boolean;
}

/** The edits of the screens that are mounted. */
const present = new Set<{ readonly current: Unsaved }>();

export function hasUnsavedChanges(): boolean {
  return [...present].some(({ current }) => current.hasChanges());
}

/** Asks before links, keys, the Back button or the browser lead away from edits. */
export function useUnsaved(unsaved: Unsaved): void {
  const newest = useRef(unsaved);
  newest.current = unsaved;
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (newest.current.hasChanges()) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    present.add(newest);
    const stopAsking = askBeforeLeaving((next) => {
      const { hasChanges, staysAt } = newest.current;
      const stays = next.pathname === path.peek() && (staysAt?.(next) ?? true);
      return stays || !hasChanges() || confirm("Leave without saving? What you have changed is lost.");
    });
    return () => {
      removeEventListener("beforeunload", warn);
      present.delete(newest);
      stopAsking();
    };
  }, []);
}
