/** Names templates in sentences by their texts. */

import { type QueryLimits, templateTextOf } from "../../../engine/index.ts";
import { searchLogs } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { StatedSuspect } from "../../model/investigation.ts";
import type { Incident } from "../analysis/telemetry.ts";
import { quote } from "../query-text.ts";

/** The id of a template as sentences of evidence hold it. */
const templateId = /\b[0-9a-f]{16}\b/g;
const textLengthMax = 140;

/** Puts the texts of templates into the sentences of evidence, instead of their ids. Throws what the store throws. */
export async function nameTemplates(
  store: SearchableStore,
  suspects: readonly StatedSuspect[],
  { baselineMs, endMs }: Incident,
  limits: QueryLimits,
): Promise<StatedSuspect[]> {
  const ids = new Set(
    suspects.flatMap(({ evidence }) => evidence.flatMap(({ sentence }) => sentence.match(templateId) ?? [])),
  );
  const texts = new Map<string, string>();
  for (const id of ids) {
    const asked = { query: `logs{template=${quote(id)}}`, startMs: baselineMs, endMs: endMs - 1, limit: 1 };
    const [row] = (await searchLogs(store, asked, limits)).rows;
    if (row !== undefined) texts.set(id, shorten(templateTextOf(row.message)));
  }
  const name = (sentence: string) =>
    sentence.replace(templateId, (id) => (texts.has(id) ? `“${texts.get(id)}”` : id));
  return suspects.map((suspect) => {
    return {
      ...suspect,
      evidence: suspect.evidence.map((each) => ({ ...each, sentence: name(each.sentence) })),
    };
  });
}

function shorten(text: string): string {
  // What stands before the first word is a time, or an id.
  const line = text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:\S*<\*>\S* )+(?=\S*[a-z])/i, "");
  return line.length <= textLengthMax ? line : `${line.slice(0, textLengthMax).toWellFormed()}…`;
}
