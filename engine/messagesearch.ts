/** Filters over messages that are stored as templates and variables. */
import type { Bitmap } from "./bitmap.ts";
import { foldCase, isAscii } from "./fold.ts";
import type { LeafFilter } from "./predicate.ts";
import type { MessageColumn } from "./template/messages.ts";
import { messagesHolding, textNeedle } from "./template/search.ts";
import type { ChunkView } from "./view.ts";

/** The chunk's rows that pass, undefined where none does; "unsettled" where templates cannot decide and rows are to be looked at. */
export function searchMessages(
  filter: LeafFilter,
  messages: MessageColumn,
  view: ChunkView,
): Bitmap | undefined | "all" | "unsettled" {
  if (filter.kind !== "contains") return "unsettled";
  const { text, ignoreCase } = filter;
  if (text === "") return "all";
  const wanted = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(wanted)) return "unsettled";
  // A lone surrogate has no UTF-8 and so stands in no stored text.
  if (!wanted.isWellFormed()) return undefined;
  const needle = textNeedle(Buffer.from(wanted, "utf8"), ignoreCase);
  const { kernels, scratch } = view.heap;
  return messagesHolding(messages, needle, {
    kernels,
    scratch,
    letters: (group) => view.letters(group),
    longRuns: (group) => view.longRuns(group),
  });
}
