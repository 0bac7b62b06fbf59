/** Looks again and again while the page is in sight. */

import { useEffect } from "preact/hooks";

/** Calls `look` now, every `everyMs` while the page is in sight, and when it comes into sight; anew where `key` changes. */
export function usePolling(look: () => void, everyMs: number, key: string): void {
  useEffect(() => {
    const lookIfSeen = () => {
      if (!document.hidden) look();
    };
    look();
    const timer = setInterval(lookIfSeen, everyMs);
    document.addEventListener("visibilitychange", lookIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", lookIfSeen);
    };
  }, [key, everyMs]);
}
