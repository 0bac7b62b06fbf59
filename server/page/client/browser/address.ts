/** The address of the page: the one place where its state is kept. */

import { computed, signal } from "@preact/signals";

const current = signal(new URL(location.href));

/** The path, such as `/traces`. */
export const path = computed(() => current.value.pathname);

/** The parameters of the address. Reading one of them makes a component depend on all. */
export const parameters = computed(() => current.value.searchParams);

window.addEventListener("popstate", () => {
  current.value = new URL(location.href);
});

/** Goes to an address of the page: a new entry of the history, or the present one in place. */
export function go(href: string, { replace = false }: { replace?: boolean } = {}): void {
  const next = new URL(href, location.href);
  if (next.href === current.value.href) return;
  if (replace) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
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
    event.preventDefault();
    go(link.href);
  });
}
