import type { Filter } from "../../engine/index.ts";
import type { Phrase, SearchTerm, SearchTerms } from "../tree/search-terms.ts";
import { countCondition, type PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";

/** The filter of search terms. Throws a QueryError as `planMatcher` does. */
export function planSearchTerms(node: SearchTerms, context: PlanContext): Filter {
  const alternatives = node.alternatives.map(
    (terms): Filter => ({ kind: "and", of: terms.map((term) => planSearchTerm(term, context)) }),
  );
  return { kind: "or", of: alternatives };
}

function planSearchTerm(node: SearchTerm, context: PlanContext): Filter {
  const filter = node.of.kind === "matcher" ? planMatcher(node.of, context) : planPhrase(node.of, context);
  return node.excluded ? { kind: "not", of: filter } : filter;
}

function planPhrase(node: Phrase, context: PlanContext): Filter {
  countCondition(context, node);
  return { kind: "contains", field: { kind: "message" }, text: node.text, ignoreCase: true };
}
