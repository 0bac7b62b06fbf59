import type { Filter } from "../../engine/index.ts";
import type { Phrase, Prefix, SearchTerm, SearchTerms } from "../tree/search-terms.ts";
import { countCondition, countRegexp, type PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";
import { makeWordStartFilter } from "./regexp.ts";

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

function planPrefix(node: Prefix, context: PlanContext): Filter {
  countCondition(context, node);
  countRegexp(context, node.text, node);
  return makeWordStartFilter({ kind: "message" }, node.text);
}

function planPhrase(node: Phrase, context: PlanContext): Filter {
  countCondition(context, node);
  return { kind: "contains", field: { kind: "message" }, text: node.text, ignoreCase: true };
}
