import {
  type CstNode,
  CstParser,
  EOF,
  type IParserErrorMessageProvider,
  type ParserMethod,
  tokenLabel,
} from "chevrotain";
import * as token from "../text/tokens.ts";

/** What the rules expect where the text is wrong: the first half of the sentence "expected …, found …". */
const expected = {
  selector: "a selector such as `logs{…}`",
  item: 'a label such as `service.name="cart"`, or `}`',
  itemEnd: "`,` or `}`",
  label: "a label",
  comparison: "`=`, `!=`, `=~`, `!~`, `>`, `>=`, `<` or `<=`",
  value: "a text in quotes, a number or a $variable",
  text: "a text in quotes",
  afterPipe: '`json`, `logfmt`, `pattern "…"`, `regexp "…"` or a label filter such as `status >= 500`',
  condition: "a label filter such as `status >= 500`, or `(`",
  number: "a number",
  duration: "a duration such as `5m` or `1h30m`",
  labelsEnd: "`,` or `)`",
  end: "an operator, a stage or the end of the query",
} as const;

// The message of a Chevrotain error is only what was expected. `syntax-error.ts` makes a sentence of it.
const errorMessageProvider: IParserErrorMessageProvider = {
  buildMismatchTokenMessage: ({ expected }) => tokenLabel(expected),
  buildNoViableAltMessage: ({ customUserDescription }) => customUserDescription ?? expected.selector,
  buildEarlyExitMessage: ({ customUserDescription }) => customUserDescription ?? expected.selector,
  buildNotAllInputParsedMessage: () => expected.end,
};

/**
 * A rule of the grammar. A call parses from the next token, and returns the concrete syntax tree of the tokens it took.
 */
export type GrammarRule = ParserMethod<[], CstNode>;

/** The part of the grammar for labels, matchers, selectors and their stages. `grammar.ts` adds expressions. */
export abstract class SelectorGrammar extends CstParser {
  /** Returns whether a stage over several rows comes next. */
  protected abstract isOrderedStage(): boolean;
  abstract readonly orderedStage: GrammarRule;

  constructor() {
    super(token.vocabulary, { maxLookahead: 2, errorMessageProvider, recoveryEnabled: false });
  }

  readonly label: GrammarRule = this.RULE("label", () => {
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.Name) },
        { ALT: () => this.CONSUME(token.StringToken) },
        { ALT: () => this.CONSUME(token.Variable) },
      ],
      ERR_MSG: expected.label,
    });
  });

  readonly matcher: GrammarRule = this.RULE("matcher", () => {
    this.SUBRULE(this.label);
    this.SUBRULE(this.comparison);
    this.SUBRULE(this.value);
  });

  readonly comparison: GrammarRule = this.RULE("comparison", () => {
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.Equal) },
        { ALT: () => this.CONSUME(token.NotEqual) },
        { ALT: () => this.CONSUME(token.Match) },
        { ALT: () => this.CONSUME(token.NotMatch) },
        { ALT: () => this.CONSUME(token.Greater) },
        { ALT: () => this.CONSUME(token.GreaterEqual) },
        { ALT: () => this.CONSUME(token.Less) },
        { ALT: () => this.CONSUME(token.LessEqual) },
      ],
      ERR_MSG: expected.comparison,
    });
  });

  readonly value: GrammarRule = this.RULE("value", () => {
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.StringToken) },
        { ALT: () => this.CONSUME(token.Variable) },
        {
          ALT: () => {
            this.OPTION(() => this.CONSUME(token.Minus));
            this.OR2({
              DEF: [
                { ALT: () => this.CONSUME(token.NumberToken) },
                { ALT: () => this.CONSUME(token.QuantityToken) },
              ],
              ERR_MSG: expected.number,
            });
          },
        },
      ],
      ERR_MSG: expected.value,
    });
  });

  readonly selector: GrammarRule = this.RULE("selector", () => {
    this.OR({
      DEF: [
        {
          ALT: () => {
            this.CONSUME(token.Name);
            this.OPTION(() => this.SUBRULE(this.braces));
          },
        },
        { ALT: () => this.SUBRULE2(this.braces) },
      ],
      ERR_MSG: expected.selector,
    });
    this.MANY({
      // `!=` and `!~` begin a line filter only before a text. Elsewhere `!=` compares series.
      GATE: () => !this.#isComparison() || this.#isText(this.LA(2).tokenType),
      DEF: () => this.SUBRULE(this.stage),
    });
    this.OPTION2(() => this.SUBRULE(this.window));
    this.OPTION3(() => this.SUBRULE(this.offset));
  });

  readonly window: GrammarRule = this.RULE("window", () => {
    this.CONSUME(token.LeftBracket);
    this.SUBRULE(this.duration);
    this.CONSUME(token.RightBracket, { ERR_MSG: "`]`" });
  });

  readonly offset: GrammarRule = this.RULE("offset", () => {
    this.CONSUME(token.Offset);
    this.SUBRULE(this.duration);
  });

  readonly duration: GrammarRule = this.RULE("duration", () => {
    this.OR({
      DEF: [{ ALT: () => this.CONSUME(token.Duration) }, { ALT: () => this.CONSUME(token.Variable) }],
      ERR_MSG: expected.duration,
    });
  });

  readonly braces: GrammarRule = this.RULE("braces", () => {
    this.CONSUME(token.LeftBrace);
    this.OR({
      DEF: [{ ALT: () => this.SUBRULE(this.items) }, { ALT: () => this.CONSUME(token.RightBrace) }],
      ERR_MSG: expected.item,
    });
  });

  readonly items: GrammarRule = this.RULE("items", () => {
    this.SUBRULE(this.item);
    this.MANY({
      // A trailing comma before `}` is allowed.
      GATE: () => this.LA(2).tokenType !== token.RightBrace,
      MAX_LOOKAHEAD: 1,
      DEF: () => {
        this.CONSUME(token.Comma);
        this.SUBRULE2(this.item);
      },
    });
    this.OPTION(() => this.CONSUME2(token.Comma));
    this.CONSUME(token.RightBrace, { ERR_MSG: expected.itemEnd });
  });

  readonly item: GrammarRule = this.RULE("item", () => {
    this.OR({
      DEF: [{ ALT: () => this.SUBRULE(this.matcher) }, { ALT: () => this.CONSUME(token.StringToken) }],
      ERR_MSG: expected.item,
    });
  });

  readonly stage: GrammarRule = this.RULE("stage", () => {
    this.OR({
      DEF: [
        { ALT: () => this.SUBRULE(this.lineFilter) },
        {
          ALT: () => {
            this.CONSUME(token.Pipe);
            this.SUBRULE(this.pipeStage);
          },
        },
      ],
      ERR_MSG: expected.end,
    });
  });

  readonly lineFilter: GrammarRule = this.RULE("lineFilter", () => {
    this.OR([
      { ALT: () => this.CONSUME(token.PipeEqual) },
      { ALT: () => this.CONSUME(token.NotEqual) },
      { ALT: () => this.CONSUME(token.PipeMatch) },
      { ALT: () => this.CONSUME(token.NotMatch) },
    ]);
    this.SUBRULE(this.text);
    this.MANY({
      // `or` before anything but a text is the operator between series.
      GATE: () => this.#isText(this.LA(2).tokenType) || this.LA(2).tokenType === EOF,
      DEF: () => {
        this.CONSUME(token.Or);
        this.SUBRULE2(this.text);
      },
    });
  });

  readonly text: GrammarRule = this.RULE("text", () => {
    this.OR({
      DEF: [
        { ALT: () => this.CONSUME(token.StringToken) },
        { ALT: () => this.CONSUME(token.CaselessString) },
        { ALT: () => this.CONSUME(token.Variable) },
      ],
      ERR_MSG: expected.text,
    });
  });

  readonly pipeStage: GrammarRule = this.RULE("pipeStage", () => {
    this.OR({
      // A stage over several rows begins like a label filter; the gate tells them apart.
      IGNORE_AMBIGUITIES: true,
      MAX_LOOKAHEAD: 1,
      DEF: [
        { GATE: () => this.isOrderedStage(), ALT: () => this.SUBRULE(this.orderedStage) },
        { ALT: () => this.CONSUME(token.Json) },
        { ALT: () => this.CONSUME(token.Logfmt) },
        { ALT: () => this.SUBRULE(this.patternStage) },
        { ALT: () => this.SUBRULE(this.regexpStage) },
        { ALT: () => this.SUBRULE(this.lineFormat) },
        { ALT: () => this.SUBRULE(this.labelFormat) },
        { ALT: () => this.SUBRULE(this.labelFilter) },
      ],
      ERR_MSG: expected.afterPipe,
    });
  });

  readonly patternStage: GrammarRule = this.RULE("patternStage", () => {
    this.CONSUME(token.Pattern);
    this.CONSUME(token.StringToken, { ERR_MSG: 'a pattern in quotes such as "<ip> <_>"' });
  });

  readonly regexpStage: GrammarRule = this.RULE("regexpStage", () => {
    this.CONSUME(token.Regexp);
    this.CONSUME(token.StringToken, {
      ERR_MSG: 'a regular expression in quotes such as "took (?P<ms>[0-9]+)"',
    });
  });

  readonly lineFormat: GrammarRule = this.RULE("lineFormat", () => {
    this.CONSUME(token.LineFormat);
    this.CONSUME(token.StringToken, { ERR_MSG: 'a text in quotes such as "{{.method}} {{.path}}"' });
  });

  readonly labelFormat: GrammarRule = this.RULE("labelFormat", () => {
    this.CONSUME(token.LabelFormat);
    this.SUBRULE(this.formattedLabel);
    this.MANY(() => {
      this.CONSUME(token.Comma);
      this.SUBRULE2(this.formattedLabel);
    });
  });

  readonly formattedLabel: GrammarRule = this.RULE("formattedLabel", () => {
    this.SUBRULE(this.label);
    this.CONSUME(token.Equal);
    this.OR({
      DEF: [{ ALT: () => this.CONSUME(token.Name) }, { ALT: () => this.CONSUME(token.StringToken) }],
      ERR_MSG: 'another label, or a text in quotes such as "{{.method}} {{.path}}"',
    });
  });

  readonly labelFilter: GrammarRule = this.RULE("labelFilter", () => {
    this.SUBRULE(this.conjunction);
    this.MANY(() => {
      this.CONSUME(token.Or);
      this.SUBRULE2(this.conjunction);
    });
  });

  readonly conjunction: GrammarRule = this.RULE("conjunction", () => {
    this.SUBRULE(this.condition);
    this.MANY(() => {
      this.OR([{ ALT: () => this.CONSUME(token.And) }, { ALT: () => this.CONSUME(token.Comma) }]);
      this.SUBRULE2(this.condition);
    });
  });

  readonly condition: GrammarRule = this.RULE("condition", () => {
    this.OR({
      DEF: [
        { ALT: () => this.SUBRULE(this.matcher) },
        {
          ALT: () => {
            this.CONSUME(token.LeftParen);
            this.SUBRULE(this.labelFilter);
            this.CONSUME(token.RightParen, { ERR_MSG: "`and`, `or` or `)`" });
          },
        },
      ],
      ERR_MSG: expected.condition,
    });
  });

  readonly labels: GrammarRule = this.RULE("labels", () => {
    this.CONSUME(token.LeftParen);
    this.OPTION(() => {
      this.SUBRULE(this.label);
      this.MANY(() => {
        this.CONSUME(token.Comma);
        this.SUBRULE2(this.label);
      });
    });
    this.CONSUME(token.RightParen, { ERR_MSG: expected.labelsEnd });
  });

  #isComparison(): boolean {
    const next = this.LA(1).tokenType;
    return next === token.NotEqual || next === token.NotMatch;
  }

  #isText(type: unknown): boolean {
    return type === token.StringToken || type === token.CaselessString;
  }
}
