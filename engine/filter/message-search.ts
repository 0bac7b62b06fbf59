/** Texts in messages that are stored as templates and variables. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Filter } from "../plan/filter.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { findMessages, type MessageMatches, type TextNeedle, textNeedle } from "../template/text-search.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";

/** What a filter looks for in templates: "unsettled" where they cannot decide and rows are to be looked at. */
type Wanted = TextNeedle | "every" | "none" | "unsettled";

/** Each chunk asks for what its query's filter looks for. */
const wanted = new WeakMap<Filter, Wanted>();

/** What a filter looks for in templates; of one that is no text "unsettled". */
export function toTextNeedle(filter: Filter): Wanted {
  let known = wanted.get(filter);
  if (known === undefined) {
    known = filter.kind === "contains" ? wantedText(filter.text, filter.ignoreCase) : "unsettled";
    wanted.set(filter, known);
  }
  return known;
}

function wantedText(text: string, ignoreCase: boolean): Wanted {
  if (text === "") return "every";
  const folded = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(folded)) return "unsettled";
  // A lone surrogate has no UTF-8 and so stands in no stored text.
  return folded.isWellFormed() ? textNeedle(Buffer.from(folded, "utf8"), ignoreCase) : "none";
}

/** The chunk's messages that pass; "unsettled" where templates cannot decide and rows are to be looked at. */
export function searchMessages(
  filter: Filter,
  messages: MessageColumn,
  view: ChunkView,
): MessageMatches | "every" | "none" | "unsettled" {
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

/** A filter for a text in messages. */
export type MessageTextFilter = Extract<Filter, { kind: "contains" | "matches" }>;
export function isMessageTextFilter(filter: Filter): filter is MessageTextFilter {
  return (filter.kind === "contains" || filter.kind === "matches") && filter.field.kind === "message";
}
