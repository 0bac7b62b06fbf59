/** Searches for texts in messages, which are stored as templates and variables. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Filter } from "../plan/filter.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { makeTextNeedle, type TextNeedle } from "../template/text-needle.ts";
import { findMessages, type MessageMatches } from "../template/text-search.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";
import { getOrMake } from "../vector/map-entry.ts";

/**
 * What a filter searches for: a needle; "every" or "none" where the result is known without a search; "undecided" where
 * templates cannot decide and each row must be read.
 */
type TextSearch = TextNeedle | "every" | "none" | "undecided";

/** By filter, since every chunk of a query asks for the same. */
const searchCache = new WeakMap<Filter, TextSearch>();

/** What a filter searches for in messages; "undecided" where it is not a text search. */
export function toTextNeedle(filter: Filter): TextSearch {
  return getOrMake(searchCache, filter, () => {
    return filter.kind === "contains" ? planTextSearch(filter.text, filter.ignoreCase) : "undecided";
  });
}

function planTextSearch(text: string, ignoreCase: boolean): TextSearch {
  if (text === "") return "every";
  const folded = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(folded)) return "undecided";
  // A lone surrogate has no UTF-8, so no stored text contains it.
  return folded.isWellFormed() ? makeTextNeedle(Buffer.from(folded, "utf8"), ignoreCase) : "none";
}

/** The messages of a chunk that pass; "undecided" where templates cannot decide and each row must be read. */
export function searchMessages(
  filter: Filter,
  messages: MessageColumn,
  view: ChunkView,
): MessageMatches | "every" | "none" | "undecided" {
  const needle = toTextNeedle(filter);
  if (typeof needle === "string") return needle;
  const { kernels, scratch } = view.heap;
  return findMessages(messages, needle, {
    kernels,
    scratch,
    ngrams: (group) => view.ngramFilter(group),
    tokens: (group) => view.tokenFilter(group),
  });
}

/** A text search or a pattern over messages. */
export type MessageTextFilter = Extract<Filter, { kind: "contains" | "matches" }>;

export function isMessageTextFilter(filter: Filter): filter is MessageTextFilter {
  return (filter.kind === "contains" || filter.kind === "matches") && filter.field.kind === "message";
}
