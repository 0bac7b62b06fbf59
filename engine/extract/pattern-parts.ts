/** Extracts by a list of literals and captures, as LogQL's `pattern` does. */
import type { PatternPart } from "../plan/filter.ts";
import type { Emit } from "./extraction.ts";

export function extractParts(parts: readonly PatternPart[], message: string, emit: Emit): void {
  if (message === "") return;
  let at = 0;
  for (const [i, part] of parts.entries()) {
    if (part.kind === "literal") {
      // Only a literal at the beginning is matched here. Any later literal was already found and skipped by the capture
      // before it.
      if (i > 0) continue;
      if (!message.startsWith(part.text)) return;
      at = part.text.length;
      continue;
    }
    const next = parts[i + 1];
    const found = next?.kind === "literal" ? message.indexOf(next.text, at) : -1;
    const end = found < 0 ? message.length : found;
    if (part.name !== null && !emit(part.name, message.slice(at, end))) return;
    if (found < 0 || next?.kind !== "literal") return;
    at = found + next.text.length;
  }
}
