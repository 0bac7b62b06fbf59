/** Filters that a click adds to the query or takes away: edits of its text, which then runs. */

import { loadChunk } from "../api/chunk.ts";
import { run, search, wanted } from "./search-state.ts";

interface FieldFilter {
  field: string;
  value: string;
  action: "include" | "exclude" | "only";
}

export async function editFilter(filter: FieldFilter): Promise<void> {
  // Where the language cannot be loaded, the shell says so.
  const language = await loadChunk(() => import("../query/language.ts")).catch(() => undefined);
  if (language !== undefined)
    search({ query: language.editQuery(wanted.value.query, filter, run.value?.signal) });
}

/** Searches for the rows of a pattern of messages alone, or without them. */
export function editPattern(template: string, action: "include" | "exclude"): Promise<void> {
  return editFilter({ field: "template", value: template, action });
}
