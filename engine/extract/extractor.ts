/** Extracts attributes from messages by the rules in query/README.md. */

import { attributeKeyBytesMax } from "../limits.ts";
import type { Extractor } from "../plan/filter.ts";
import { compileGroups } from "../regexp/pattern.ts";
import type { Extract } from "./extraction.ts";
import { extractJson } from "./json.ts";
import { extractLogfmt } from "./logfmt.ts";
import { extractParts } from "./pattern-parts.ts";

/** Attributes that one stage extracts from one message at most. */
const extractedMax = 1_000;

/** Compiles an extractor. Throws Failure "input" for a pattern that is not RE2. */
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

/** The attributes of a row. */
export interface ExtractionTarget {
  /** Whether the row was stored with an attribute. */
  isStored(name: string): boolean;
  has(name: string): boolean;
  set(name: string, value: string): void;
}

/**
 * Adds what one stage extracts from a message to the row's `attributes`. A name that the row was stored with gets the
 * suffix `_extracted`; names that are empty, too long or present already are skipped.
 */
export function applyExtractor(extract: Extract, message: string, attributes: ExtractionTarget): void {
  let count = 0;
  extract(message, (extracted, value) => {
    const name = attributes.isStored(extracted) ? `${extracted}_extracted` : extracted;
    if (name === "" || Buffer.byteLength(name) > attributeKeyBytesMax || attributes.has(name)) return true;
    attributes.set(name, value.toWellFormed());
    return ++count < extractedMax;
  });
}
