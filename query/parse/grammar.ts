import { EOF } from "chevrotain";
import * as token from "../text/tokens.ts";
import { OrderedGrammar } from "./ordered-grammar.ts";
import type { GrammarRule } from "./selector-grammar.ts";

/** What the rules expect where the text is wrong: the first half of the sentence "expected …, found …". */
const expected = {
  operand: "a selector such as `logs{…}`, an aggregation, a number or `(`",
  inner: "a selector such as `logs{…}`, `rate(…)`, `increase(…)`, `json_path(…)` or an aggregation",
  number: "a number",
  end: "an operator, a stage or the end of the query",
} as const;

/**
 * The grammar of svcQL, without operator precedence. `visitor.ts` turns its concrete syntax tree into the syntax tree.
 */
class Grammar extends OrderedGrammar {
  constructor() {
    super();
    this.performSelfAnalysis();
  }

  readonly query: GrammarRule = this.RULE("query", () => {
    this.SUBRULE(this.expression);
    this.CONSUME(EOF, { ERR_MSG: expected.end });
  });

  readonly expression: GrammarRule = this.RULE("expression", () => {
    this.SUBRULE(this.operand);
    this.MANY(() => {
      this.SUBRULE(this.operator);
      this.SUBRULE2(this.operand);
    });
  });

  readonly operator: GrammarRule = this.RULE("operator", () => {
    this.OR({
      DEF: [
        { ALT: () => this.SUBRULE(this.filteringOperator) },
        { ALT: () => this.CONSUME(token.Plus) },
        { ALT: () => this.CONSUME(token.Minus) },
        { ALT: () => this.CONSUME(token.Times) },
        { ALT: () => this.CONSUME(token.Over) },
        { ALT: () => this.CONSUME(token.Modulo) },
        { ALT: () => this.CONSUME(token.Power) },
        { ALT: () => this.CONSUME(token.And) },
        { ALT: () => this.CONSUME(token.Unless) },
        { ALT: () => this.CONSUME(token.Or) },
        { ALT: () => this.CONSUME(token.Default) },
      ],
      ERR_MSG: expected.end,
    });
    this.OPTION(() => this.SUBRULE(this.matching));
  });

  readonly filteringOperator: GrammarRule = this.RULE("filteringOperator", () => {
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.EqualEqual) },
        { ALT: () => this.CONSUME(token.NotEqual) },
        { ALT: () => this.CONSUME(token.Greater) },
        { ALT: () => this.CONSUME(token.GreaterEqual) },
        { ALT: () => this.CONSUME(token.Less) },
        { ALT: () => this.CONSUME(token.LessEqual) },
      ],
      ERR_MSG: expected.end,
    });
    this.OPTION(() => this.CONSUME(token.Bool));
  });

  readonly matching: GrammarRule = this.RULE("matching", () => {
    this.OR([{ ALT: () => this.CONSUME(token.On) }, { ALT: () => this.CONSUME(token.Ignoring) }]);
    this.SUBRULE(this.labels);
  });

  readonly operand: GrammarRule = this.RULE("operand", () => {
    this.MANY(() => this.CONSUME(token.Minus));
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.NumberToken) },
        { ALT: () => this.CONSUME(token.Variable) },
        { ALT: () => this.SUBRULE(this.bracketed) },
        { ALT: () => this.SUBRULE(this.series) },
      ],
      ERR_MSG: expected.operand,
    });
  });

  readonly bracketed: GrammarRule = this.RULE("bracketed", () => {
    this.CONSUME(token.LeftParen);
    this.SUBRULE(this.expression);
    this.CONSUME(token.RightParen, { ERR_MSG: "an operator or `)`" });
  });

  readonly series: GrammarRule = this.RULE("series", () => {
    // A word such as `sum` is a function only before `(` or a grouping; elsewhere it is the name of a metric. So the
    // alternatives of functions come before the selector.
    this.OR({
      DEF: [
        { ALT: () => this.SUBRULE(this.aggregate) },
        { ALT: () => this.SUBRULE(this.rangeFunction) },
        { ALT: () => this.SUBRULE(this.seriesFunction) },
        { ALT: () => this.SUBRULE(this.jsonPath) },
        { ALT: () => this.SUBRULE(this.selector) },
      ],
      ERR_MSG: expected.inner,
    });
  });

  readonly aggregate: GrammarRule = this.RULE("aggregate", () => {
    this.CONSUME(token.Aggregation);
    this.OPTION(() => this.SUBRULE(this.grouping));
    this.CONSUME(token.LeftParen);
    this.OPTION1(() => {
      this.SUBRULE(this.parameter);
      this.CONSUME(token.Comma);
    });
    this.OPTION2(() => {
      this.SUBRULE(this.label);
      this.CONSUME2(token.Comma);
    });
    this.SUBRULE(this.expression);
    this.CONSUME(token.RightParen, { ERR_MSG: "a stage, an operator or `)`" });
    this.OPTION3(() => this.SUBRULE2(this.grouping));
  });

  readonly parameter: GrammarRule = this.RULE("parameter", () => {
    this.OR({
      DEF: [{ ALT: () => this.CONSUME(token.NumberToken) }, { ALT: () => this.CONSUME(token.Variable) }],
      ERR_MSG: expected.number,
    });
  });

  readonly grouping: GrammarRule = this.RULE("grouping", () => {
    this.OR([{ ALT: () => this.CONSUME(token.By) }, { ALT: () => this.CONSUME(token.Without) }]);
    this.SUBRULE(this.labels);
  });

  readonly rangeFunction: GrammarRule = this.RULE("rangeFunction", () => {
    this.CONSUME(token.RangeFunction);
    this.CONSUME(token.LeftParen);
    this.OPTION(() => {
      this.SUBRULE(this.parameter);
      this.CONSUME(token.Comma);
    });
    this.SUBRULE(this.selector);
    this.OPTION2(() => {
      this.CONSUME2(token.Comma);
      this.SUBRULE(this.expression);
    });
    this.CONSUME(token.RightParen, { ERR_MSG: "a stage or `)`" });
  });

  readonly seriesFunction: GrammarRule = this.RULE("seriesFunction", () => {
    this.CONSUME(token.SeriesFunction);
    this.CONSUME(token.LeftParen);
    this.SUBRULE(this.argument);
    this.MANY(() => {
      this.CONSUME(token.Comma);
      this.SUBRULE2(this.argument);
    });
    this.CONSUME(token.RightParen, { ERR_MSG: "an operator, `,` or `)`" });
  });

  readonly argument: GrammarRule = this.RULE("argument", () => {
    this.OR({
      DEF: [{ ALT: () => this.CONSUME(token.StringToken) }, { ALT: () => this.SUBRULE(this.expression) }],
      ERR_MSG: expected.operand,
    });
  });

  readonly jsonPath: GrammarRule = this.RULE("jsonPath", () => {
    this.CONSUME(token.JsonPath);
    this.CONSUME(token.LeftParen);
    this.CONSUME(token.StringToken, { ERR_MSG: 'a path in quotes such as "spec.replicas"' });
    this.CONSUME(token.Comma);
    this.SUBRULE(this.selector);
    this.CONSUME(token.RightParen, { ERR_MSG: "a stage or `)`" });
  });
}

export const grammar = new Grammar();
