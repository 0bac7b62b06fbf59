/** Attributes read out of a message, as query/README.md gives the rules. */

import { attributeKeyBytesMax } from "../limits.ts";
import type { Extractor } from "../plan/filter.ts";
import { compileGroups } from "../regexp/pattern.ts";
import type { Extract } from "./extraction.ts";
import { extractJson } from "./json.ts";
import { extractLogfmt } from "./logfmt.ts";
import { extractParts } from "./pattern-parts.ts";

/** Values that one stage stores out of one message. */
const storedMax = 1_000;

/** Throws Failure "input" for a pattern that is not RE2. */
export function compileExtractor(extractor: Extractor): Extract {
  switch (extractor.kind) {
    case "json":
      return extractJson;
    case "logfmt":
      return extractLogfmt;
    case "pattern":
      return (message, emit) => extractParts(extractor.parts, message, emit);
    case "regexp": {
      const groups = compileGroups(extractor.pattern);
      return (message, emit) => {
        for (const [name, value] of groups(message)) if (!emit(name, value)) return;
      };
    }
  }
}

/** Adds what one stage extracts from a message to a row's attributes; `stored` are those it was stored with. */
export function applyExtractor(
  extract: Extract,
  message: string,
  stored: ReadonlyMap<string, string>,
  attributes: Map<string, string>,
): void {
  let count = 0;
  extract(message, (extracted, value) => {
    const name = stored.has(extracted) ? `${extracted}_extracted` : extracted;
    if (name === "" || Buffer.byteLength(name) > attributeKeyBytesMax || attributes.has(name)) return true;
    attributes.set(name, value.toWellFormed());
    return ++count < storedMax;
  });
}
