import { RE2JS } from "re2js";
import type { Filter } from "../../engine/index.ts";
import type { Phrase, Prefix, SearchTerm, SearchTerms } from "../tree/search-terms.ts";
import { countCondition, countRegexp, type PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";

/** The filter of search terms. Throws a QueryError as `planMatcher` does. */
export function planSearchTerms(node: SearchTerms, context: PlanContext): Filter {
  const alternatives = node.alternatives.map(
    (terms): Filter => ({ kind: "and", of: terms.map((term) => planSearchTerm(term, context)) }),
  );
  return { kind: "or", of: alternatives };
}

function planSearchTerm(node: SearchTerm, context: PlanContext): Filter {
  const filter = planTermContent(node.of, context);
  return node.excluded ? { kind: "not", of: filter } : filter;
}

function planTermContent(of: SearchTerm["of"], context: PlanContext): Filter {
  switch (of.kind) {
    case "phrase":
      return planPhrase(of, context);
    case "prefix":
      return planPrefix(of, context);
    case "matcher":
      return planMatcher(of, context);
    case "terms":
      return planSearchTerms(of, context);
  }
}

/** The text of the prefix narrows the rows before the regular expression, which looks for the beginning of a word. */
function planPrefix(node: Prefix, context: PlanContext): Filter {
  countCondition(context, node);
  const pattern = `(?:^|[^\\p{L}\\p{N}_])${RE2JS.quote(node.text)}`;
  countRegexp(context, pattern, node);
  const field = { kind: "message" } as const;
  return {
    kind: "and",
    of: [
      { kind: "contains", field, text: node.text, ignoreCase: true },
      { kind: "matches", field, pattern: `(?i)${pattern}`, whole: false },
    ],
  };
}

function planPhrase(node: Phrase, context: PlanContext): Filter {
  countCondition(context, node);
  return { kind: "contains", field: { kind: "message" }, text: node.text, ignoreCase: true };
}
