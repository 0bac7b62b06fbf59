import type { Filter } from "../../engine/index.ts";
import type { Phrase, Term, Terms } from "../tree/search-terms.ts";
import { countCondition, type PlanContext } from "./context.ts";
import { matcherFilter } from "./matcher.ts";

/** What terms ask of a row. */
export function termsFilter(node: Terms, context: PlanContext): Filter {
  const alternatives = node.alternatives.map(
    (each): Filter => ({ kind: "and", of: each.map((one) => termFilter(one, context)) }),
  );
  return { kind: "or", of: alternatives };
}

function termFilter(node: Term, context: PlanContext): Filter {
  const filter =
    node.of.kind === "matcher" ? matcherFilter(node.of, context) : phraseFilter(node.of, context);
  return node.excluded ? { kind: "not", of: filter } : filter;
}

function phraseFilter(node: Phrase, context: PlanContext): Filter {
  countCondition(context, node);
  return { kind: "contains", field: { kind: "message" }, text: node.text, ignoreCase: true };
}
