/** The address of the page: the one place where its state is kept. */

import { computed, signal } from "@preact/signals";

const current = signal(new URL(location.href));

/** The path, such as `/traces`. */
export const path = computed(() => current.value.pathname);

/** The parameters of the address. Reading one of them makes a component depend on all. */
export const parameters = computed(() => current.value.searchParams);

/** The state of a history entry: its position among the entries of this page. */
interface EntryState {
  position: number;
}

const readPosition = () => (history.state as EntryState | null)?.position;

/** The place of the present entry. */
let position = readPosition() ?? 0;

function writePosition(next: URL | string, { replace }: { replace: boolean }): void {
  const state: EntryState = { position };
  if (replace) history.replaceState(state, "", next);
  else history.pushState(state, "", next);
}

writePosition(location.href, { replace: true });

/** Returns false where the person wants to stay. */
type LeaveQuestion = (next: URL) => boolean;

const questions = new Set<LeaveQuestion>();

/** Adds a question that is asked before the page goes to another address. Returns the function that removes it. */
export function askBeforeLeaving(question: LeaveQuestion): () => void {
  questions.add(question);
  return () => questions.delete(question);
}

const mayGo = (next: URL) => [...questions].every((question) => question(next));

window.addEventListener("popstate", () => {
  const next = new URL(location.href);
  const isElsewhere = next.href !== current.value.href;
  const before = position;
  const after = readPosition() ?? before + 1;
  // The browser has gone already: whoever stays goes as many entries back.
  if (isElsewhere && after !== before && !mayGo(next)) return history.go(before - after);
  position = after;
  // An entry that the browser has made itself, as for a fragment.
  if (readPosition() === undefined) writePosition(next, { replace: true });
  if (isElsewhere) current.value = next;
});

/**
 * Goes to an address of the page, unless the person wants to stay: a new entry of the history, or the present one in
 * place.
 */
export function go(href: string, { replace = false }: { replace?: boolean } = {}): void {
  const next = new URL(href, location.href);
  if (next.href === current.value.href || !mayGo(next)) return;
  if (!replace) position++;
  writePosition(next, { replace });
  current.value = next;
}

/** The present address with other parameters; null and "" remove one. */
export function withParameters(changes: Readonly<Record<string, string | null>>): string {
  const next = new URL(current.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  return next.pathname + next.search;
}

/** Follows links to the page's own places without loading the page again. */
export function followLinks(isOwn: (path: string) => boolean): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (link == null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || !isOwn(link.pathname)) return;
    // The browser itself goes to a part of the document, with its scroll and focus, and tells it by `popstate`.
    if (link.hash !== "" && link.pathname + link.search === location.pathname + location.search) return;
    event.preventDefault();
    go(link.href);
  });
}
