/** Keys for all screens: an element that names its key in `aria-keyshortcuts` is focused or pressed by it. */

import { useEffect, useRef } from "preact/hooks";
import { go } from "../browser/address.ts";
import { isPageKey } from "../ui/keys.ts";
import { places } from "./places.ts";

/** Keys of elements that a screen may have, and what they are for. */
const screenKeys: readonly [string, string][] = [
  ["/", "the query"],
  ["t", "the range of time"],
  ["l", "rows as they arrive"],
];

/** Other keys. */
const otherKeys: readonly [string, string][] = [
  ["j, k", "the next row, the one before"],
  ["Enter", "opens the row, runs the query"],
  ["Shift+Enter", "a new line in the query"],
  ["Ctrl+Space", "what may stand at the caret"],
  ["c", "the critical path of a trace"],
  ["?", "this list"],
];

const chordMs = 1_000;

export function Shortcuts() {
  const list = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let chordUntilMs = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isPageKey(event) || list.current!.open) return;
      const nowMs = performance.now();
      const place = nowMs < chordUntilMs ? places.find(({ key }) => key === event.key) : undefined;
      chordUntilMs = event.key === "g" ? nowMs + chordMs : 0;
      if (place !== undefined) go(place.href);
      else if (event.key === "?") list.current!.showModal();
      else if (!press(event.key)) return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <dialog ref={list} class="shortcuts" aria-labelledby="shortcuts-title">
      <h2 id="shortcuts-title">Keys</h2>
      <dl>
        {[
          ...screenKeys,
          ...places.map(({ key, name }): [string, string] => [`g ${key}`, name]),
          ...otherKeys,
        ].map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** True where an element of the screen has the key. */
function press(key: string): boolean {
  const found = [...document.querySelectorAll<HTMLElement>("[aria-keyshortcuts]")].find(
    (element) => element.getAttribute("aria-keyshortcuts") === key,
  );
  if (found === undefined) return false;
  if (found.matches("input, textarea")) found.focus();
  else found.click();
  return true;
}
