/** Filters over messages that are stored as templates and variables. */
import { foldCase, isAscii } from "./fold.ts";
import type { LeafFilter } from "./predicate.ts";
import { type BlockFilter, type Checkpoint, eachRow } from "./selection.ts";
import type { MessageColumn } from "./template/messages.ts";
import { MessageSearch } from "./template/search.ts";

/** Undefined where templates cannot decide: the filter is then to run over the messages as plain text. */
export function compileTemplateFilter(
  filter: LeafFilter,
  messages: MessageColumn,
  checkpoint: Checkpoint,
): BlockFilter | undefined {
  if (filter.kind !== "contains") return undefined;
  const search = templateSearch(filter.text, filter.ignoreCase, messages);
  if (search === "all") return () => undefined;
  if (search === "none") return (block) => void block.selection.fill(0);
  return search === undefined ? undefined : eachRow((row) => search.holds(row), checkpoint);
}

/** Undefined where case is ignored and the text is not ASCII. */
function templateSearch(
  text: string,
  ignoreCase: boolean,
  messages: MessageColumn,
): MessageSearch | "all" | "none" | undefined {
  if (text === "") return "all";
  const wanted = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(wanted)) return undefined;
  // A lone surrogate has no UTF-8 and so stands in no stored text.
  if (!wanted.isWellFormed()) return "none";
  return new MessageSearch(messages, Buffer.from(wanted, "utf8"), ignoreCase);
}
