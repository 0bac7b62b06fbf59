/** Random syntax trees, in the canonical form that the parser gives them. */
import fc from "fast-check";
import type { Expression, SearchTerms } from "../../../query/index.ts";

type SearchTerm = SearchTerms["alternatives"][number][number];
type NodeOf<Kind extends Expression["kind"]> = Extract<Expression, { kind: Kind }>;
type Selector = NodeOf<"selector">;
type Aggregate = NodeOf<"aggregate">;
type Matcher = Selector["matchers"][number];
type Stage = Selector["stages"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
type Label = Matcher["label"];
type Text = Label["name"];
type TextPart = Text["parts"][number];

/** Texts that are hard to quote: quotes, backslashes, dollars, control characters, characters beyond U+FFFF. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        "'",
        "`",
        "\\",
        "$",
        "$a",
        "\n",
        "\t",
        "\0",
        "\u0085",
        "é",
        "💥",
        "#",
        "|",
        "x1",
        "_",
        " ",
      ),
      fc.string(),
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join("").toWellFormed());

const identifier = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/);
const word = fc.constantFrom(
  "json",
  "and",
  "or",
  "by",
  "default",
  "count",
  "logs",
  "rate",
  "offset",
  "service.name",
  "a-b",
  "k8s.io/x",
  "i",
);
const variable = fc.record({ kind: fc.constant("variable" as const), name: identifier });

/** String literals in canonical form: no empty part, and no two `characters` next to each other. */
function text(characters: fc.Arbitrary<string>): fc.Arbitrary<Text> {
  const part = fc.oneof({ weight: 3, arbitrary: characters }, { weight: 1, arbitrary: variable });
  return fc.array(part, { maxLength: 4 }).map((parts) => {
    const joined: TextPart[] = [];
    for (const each of parts) {
      const last = joined.at(-1);
      if (typeof each !== "string") joined.push(each);
      else if (last?.kind === "characters")
        joined[joined.length - 1] = { kind: "characters", text: last.text + each };
      else if (each !== "") joined.push({ kind: "characters", text: each });
    }
    return { kind: "string", parts: joined };
  });
}

const hardText = text(anyText);
const name = fc.oneof(text(fc.oneof(identifier, word)), hardText);
const label: fc.Arbitrary<Label> = fc.record({ kind: fc.constant("label"), name });
const numberText = fc.stringMatching(/^(\d{1,4}(\.\d{0,3})?|\.\d{1,3})([eE][+-]?\d{1,2})?$/);
const number = numberText.map((digits) => ({ kind: "number" as const, text: digits }));
const signedNumber = fc
  .tuple(fc.constantFrom("", "-"), numberText)
  .map(([sign, digits]) => ({ kind: "number" as const, text: sign + digits }));

const matcherOperators = ["=", "!=", "=~", "!~", ">", ">=", "<", "<="] as const;
const matcher: fc.Arbitrary<Matcher> = fc.record({
  kind: fc.constant("matcher"),
  label,
  operator: fc.constantFrom(...matcherOperators),
  value: fc.oneof(hardText, signedNumber),
});

const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    matcher,
    fc
      .tuple(
        fc.constantFrom("and" as const, "or" as const),
        fc.array(tie("condition"), { minLength: 2, maxLength: 3 }),
      )
      .map(([kind, of]) => ({ kind, of: of.flatMap((each) => (each.kind === kind ? each.of : [each])) })),
  ),
}));

const lineFilterText = fc.record({
  kind: fc.constant("lineFilterText" as const),
  text: hardText,
  ignoreCase: fc.boolean(),
});
const stage: fc.Arbitrary<Stage> = fc.oneof(
  fc.record({
    kind: fc.constant("lineFilter" as const),
    operator: fc.constantFrom("|=" as const, "!=" as const, "|~" as const, "!~" as const),
    texts: fc.array(lineFilterText, { minLength: 1, maxLength: 3 }),
  }),
  fc.constantFrom({ kind: "json" as const }, { kind: "logfmt" as const }),
  fc.record({ kind: fc.constant("pattern" as const), pattern: hardText }),
  fc.record({ kind: fc.constant("regexp" as const), pattern: hardText }),
  fc.record({ kind: fc.constant("labelFilter" as const), condition }),
);

const source: fc.Arbitrary<Selector["of"]> = fc.oneof(
  fc.record({
    kind: fc.constant("signal" as const),
    name: fc.constantFrom(
      "logs" as const,
      "traces" as const,
      "kubernetes_resources" as const,
      "profiles" as const,
    ),
  }),
  fc.record({ kind: fc.constant("metric" as const), name }),
);

const duration = fc.oneof(
  fc.record({
    kind: fc.constant("duration" as const),
    text: fc.constantFrom("5m", "1h30m", "90s", "1y2w3d4h5m6s7ms", "0s", "250ms"),
  }),
  variable,
);

const selector: fc.Arbitrary<Selector> = fc.record(
  {
    kind: fc.constant("selector" as const),
    of: source,
    matchers: fc.array(matcher, { maxLength: 3 }),
    stages: fc.array(stage, { maxLength: 4 }),
    window: duration,
    offset: duration,
  },
  { requiredKeys: ["kind", "of", "matchers", "stages"] },
) as fc.Arbitrary<Selector>;

const labels = fc.array(label, { maxLength: 3 });
const grouping = fc.option(fc.record({ kind: fc.constantFrom("by" as const, "without" as const), labels }));
const matching = fc.option(fc.record({ kind: fc.constantFrom("on" as const, "ignoring" as const), labels }));
const parameter = fc.oneof(number, variable);

const plainAggregations = ["count", "sum", "avg", "min", "max", "stddev", "count_distinct"] as const;
const numberedAggregations = [
  "quantile",
  "topk",
  "bottomk",
  "histogram_quantile",
  "trace_duration_quantile",
] as const;
const filtering = ["==", "!=", ">", ">=", "<", "<="] as const;
const calculating = ["+", "-", "*", "/", "%", "^", "and", "or", "unless", "default"] as const;

const { expression } = fc.letrec<{ expression: Expression; series: Expression }>((tie) => {
  const aggregate = (op: fc.Arbitrary<Aggregate["op"]>, given: fc.Arbitrary<Aggregate["parameter"]>) =>
    fc.record({
      kind: fc.constant("aggregate" as const),
      op,
      parameter: given,
      field: fc.option(label),
      of: tie("expression"),
      grouping,
    });
  const operation = (op: fc.Arbitrary<NodeOf<"operation">["op"]>, bool: fc.Arbitrary<boolean>) =>
    fc.record({
      kind: fc.constant("operation" as const),
      op,
      bool,
      matching,
      left: tie("expression"),
      right: tie("expression"),
    });
  return {
    series: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      selector,
      fc.record({
        kind: fc.constant("rangeFunction" as const),
        op: fc.constantFrom(
          ...([
            "rate",
            "increase",
            "count_over_time",
            "avg_over_time",
            "min_over_time",
            "max_over_time",
            "delta",
          ] as const),
        ),
        of: selector,
        parameter: fc.constant(null),
      }),
      fc.record({
        kind: fc.constant("rangeFunction" as const),
        op: fc.constant("quantile_over_time" as const),
        of: selector,
        parameter,
      }),
      fc.record({
        kind: fc.constant("rangeFunction" as const),
        op: fc.constant("predict_linear" as const),
        // A comma after a stage would be read as part of it.
        of: selector.map((each) => ({ ...each, stages: [] })),
        parameter: tie("expression"),
      }),
      fc.record({ kind: fc.constant("jsonPath" as const), path: hardText, of: selector }),
      fc.record({
        kind: fc.constant("function" as const),
        op: fc.constantFrom("abs", "round", "clamp_min", "label_replace", "sort_desc", "absent"),
        args: fc.array(fc.oneof({ depthSize: "small" }, hardText, tie("expression")), {
          minLength: 1,
          maxLength: 5,
        }),
      }),
      aggregate(fc.constantFrom(...plainAggregations), fc.constant(null)),
      aggregate(fc.constantFrom(...numberedAggregations), parameter),
    ),
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      number,
      variable,
      tie("series"),
      fc.record({ kind: fc.constant("negation" as const), of: tie("expression") }),
      operation(fc.constantFrom(...filtering), fc.boolean()),
      operation(fc.constantFrom(...calculating), fc.constant(false)),
    ),
  };
});

export { expression as anyExpression };

/** Search terms have no escape for NUL, so they cannot contain it. */
const termText = anyText.map((each) => each.replaceAll("\0", ""));
const plainText = fc.oneof(termText, word, identifier, numberText).map(
  (characters): Text => ({
    kind: "string",
    parts: characters === "" ? [] : [{ kind: "characters", text: characters }],
  }),
);
const termContent = fc.oneof(
  fc.record({
    kind: fc.constant("phrase" as const),
    text: fc.oneof(
      termText,
      word,
      fc.constantFrom("AND", "OR", "NOT", "-x", "a=b", "a:b", "logs{", "{}", "(", "(a)", "x*", "*"),
    ),
  }),
  fc.record({
    kind: fc.constant("prefix" as const),
    text: fc.constantFrom("err", "a.b-c/d", "ü", "NOT", "5"),
  }),
  fc.record({
    kind: fc.constant("matcher" as const),
    label: fc.record({ kind: fc.constant("label" as const), name: plainText }),
    operator: fc.constantFrom(...matcherOperators),
    value: plainText,
  }),
);

export const { terms: anyTerms } = fc.letrec<{ terms: SearchTerms; term: SearchTerm }>((tie) => ({
  terms: fc.record({
    kind: fc.constant("terms" as const),
    alternatives: fc.array(fc.array(tie("term"), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  term: fc.record({
    kind: fc.constant("term" as const),
    excluded: fc.boolean(),
    of: fc.oneof({ depthSize: "small", withCrossShrink: true }, termContent, tie("terms")),
  }),
}));
