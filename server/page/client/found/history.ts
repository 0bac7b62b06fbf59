/** The queries that were run in this browser, the newest first. */

import { computed } from "@preact/signals";
import { preference } from "../browser/preferences.ts";

const remembered = preference("queries", "[]");
const rememberedMax = 50;
/** Longer queries are not remembered. */
const queryLengthMax = 4_000;

export const recentQueries = computed((): readonly string[] => {
  try {
    const found: unknown = JSON.parse(remembered.value);
    return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
});

export function rememberQuery(query: string): void {
  if (query === "" || query.length > queryLengthMax || query === recentQueries.peek()[0]) return;
  const others = recentQueries.peek().filter((each) => each !== query);
  remembered.value = JSON.stringify([query, ...others].slice(0, rememberedMax));
}

export function forgetQueries(): void {
  remembered.value = "[]";
}
