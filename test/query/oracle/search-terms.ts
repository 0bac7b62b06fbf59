/** Search terms, for people who do not know the language. */
import type { Random } from "../../../fixtures/random.ts";
import { type Condition, equals, exceeds, type Inequality, matches } from "./condition.ts";
import type { Labelled } from "./row.ts";
import { drawExpression, fold } from "./text.ts";

interface Term {
  text: string;
  forms: readonly string[];
  passes(of: Labelled): boolean;
}

const readMessage = (of: Labelled) => fold(of.readLabel("message") ?? "");

function word(text: string): Term {
  return { text, forms: ["word"], passes: (of) => readMessage(of).includes(fold(text)) };
}

function phrase(text: string): Term {
  const quoted = `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
  return { text: quoted, forms: ["phrase"], passes: (of) => readMessage(of).includes(fold(text)) };
}

function prefix(text: string): Term {
  const passes = (of: Labelled) => {
    const message = readMessage(of);
    for (let at = message.indexOf(fold(text)); at !== -1; at = message.indexOf(fold(text), at + 1)) {
      if (at === 0 || !/[\p{L}\p{N}_]/u.test([...message.slice(0, at)].at(-1)!)) return true;
    }
    return false;
  };
  return { text: `${text}*`, forms: ["prefix*"], passes };
}

function comparison(random: Random, what: TermWords): Term {
  const [label, values] = random.pick(what.labels);
  const value = random.pick(values);
  const text =
    /[\s"']/.test(value) || value === "" || random.oneIn(3)
      ? `"${value.replaceAll(/["\\]/g, "\\$&")}"`
      : value;
  const name = label;
  switch (random.below(4)) {
    case 0: {
      const op = random.oneIn(3) ? "!=" : "=";
      return {
        text: `${name}${op}${text}`,
        forms: ["term ="],
        passes: equals(label, op, value, random).passes,
      };
    }
    case 1: {
      if (/[\s"']/.test(value) || value === "" || value.startsWith("/") || label === "took")
        return comparison(random, what);
      return {
        text: `${name}:${value}`,
        forms: ["term :"],
        passes: equals(label, "=", value, random).passes,
      };
    }
    case 2: {
      const op = random.pick<Inequality>([">", ">=", "<", "<="]);
      const number = String(random.pick([0, 12, 200, 500, 1.5]));
      return {
        text: `${name}${op}${number}`,
        forms: ["term >"],
        passes: exceeds(label, op, number, random).passes,
      };
    }
    default: {
      const expression = drawExpression(random, ["err", "warn", "shop", "5"]);
      const written = `"${expression.text.replaceAll(/["\\]/g, "\\$&")}"`;
      const op = random.oneIn(3) ? "!~" : "=~";
      return {
        text: `${name}${op}${written}`,
        forms: ["term =~"],
        passes: matches(label, op, expression, random).passes,
      };
    }
  }
}

/** What terms are drawn from. */
export interface TermWords {
  words: readonly string[];
  phrases: readonly string[];
  prefixes: readonly string[];
  labels: readonly (readonly [label: string, values: readonly string[]])[];
}

function drawTerm(random: Random, what: TermWords, depth: number): Term {
  const kind = random.below(depth > 0 ? 11 : 9);
  if (kind < 3) return word(random.pick(what.words));
  if (kind < 5) return phrase(random.pick(what.phrases));
  if (kind < 6) return prefix(random.pick(what.prefixes));
  if (kind < 8) return comparison(random, what);
  if (kind < 9) {
    const inner = drawTerm(random, what, 0);
    const sign = inner.text.startsWith("-") || random.oneIn(2) ? "NOT " : "-";
    return inner.forms.includes("excluded")
      ? inner
      : { text: sign + inner.text, forms: ["excluded", ...inner.forms], passes: (of) => !inner.passes(of) };
  }
  const inner = drawTerms(random, what, depth - 1, 2);
  return { text: `(${inner.text})`, forms: ["brackets", ...inner.forms], passes: inner.passes };
}

/** Alternatives of terms; at least `least` terms in the first. */
function drawTerms(random: Random, what: TermWords, depth: number, least: number): Term {
  const alternatives = Array.from({ length: random.oneIn(3) ? 2 : 1 }, (_, i) => {
    const count = Math.max(i === 0 ? least : 1, 1 + random.below(3));
    return Array.from({ length: count }, () => drawTerm(random, what, depth));
  });
  const text = alternatives
    .map((terms) =>
      terms.map((term, i) => (i === 0 ? "" : random.oneIn(5) ? " AND " : " ") + term.text).join(""),
    )
    .join(" OR ");
  const forms = alternatives.flat().flatMap((term) => term.forms);
  if (alternatives.length > 1) forms.push("OR");
  return {
    text,
    forms,
    passes: (of) => alternatives.some((terms) => terms.every((term) => term.passes(of))),
  };
}

export function drawSearchTerms(random: Random, what: TermWords): Condition {
  return drawTerms(random, what, 2, 1);
}
