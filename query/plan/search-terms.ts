import type { Filter } from "../../engine/index.ts";
import type { Phrase, SearchTerm, SearchTerms } from "../tree/search-terms.ts";
import { countCondition, type PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";

/** What terms ask of a row. */
export function planSearchTerms(node: SearchTerms, context: PlanContext): Filter {
  const alternatives = node.alternatives.map(
    (each): Filter => ({ kind: "and", of: each.map((one) => planSearchTerm(one, context)) }),
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
