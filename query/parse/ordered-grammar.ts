import { tokenMatcher } from "chevrotain";
import { orderedStageWords, rowFunctions } from "../text/keywords.ts";
import * as token from "../text/tokens.ts";
import { type GrammarRule, SelectorGrammar } from "./selector-grammar.ts";

/** What the rules expect where the text is wrong: the first half of the sentence "expected …, found …". */
const expected = {
  function: `one of the functions ${rowFunctions.map((name) => `\`${name}\``).join(", ")}`,
  argumentEnd: "`,` or `)`",
  step: 'a filter such as `|= "started"` or `status >= 500`',
  stepsEnd: "`then`, a filter or `)`",
  duration: "a duration such as `5s`",
  joined: "a selector in brackets, such as `(traces{…})`",
  by: "`by (…)`",
  on: "`on (…)` with the labels that both have, such as `on (trace_id)`",
  labelsEnd: "`,` or `)`",
} as const;

const stageWords: ReadonlySet<string> = new Set(orderedStageWords);
/** Behind a word, these compare a label, and never begin a line filter. */
const labelComparisons = [
  ...[token.Equal, token.Match],
  ...[token.Greater, token.GreaterEqual, token.Less, token.LessEqual],
];
const comparisons = [...labelComparisons, token.NotEqual, token.NotMatch];

/** The part of the grammar for stages that look at several rows. Their words are labels everywhere else. */
export class OrderedGrammar extends SelectorGrammar {
  protected override isOrderedStage(): boolean {
    const [first, second, third] = [this.LA(1), this.LA(2), this.LA(3)];
    if (tokenMatcher(first, token.Unless)) return true;
    if (second.tokenType === token.Equal) return tokenMatcher(third, token.Name);
    return stageWords.has(first.image) && !comparisons.includes(second.tokenType);
  }

  override readonly orderedStage: GrammarRule = this.RULE("orderedStage", () => {
    this.OR({
      IGNORE_AMBIGUITIES: true,
      MAX_LOOKAHEAD: 1,
      DEF: [
        {
          GATE: () => this.LA(2).tokenType === token.Equal,
          ALT: () => this.SUBRULE(this.assignStage),
        },
        { GATE: () => this.LA(1).image === "sequence", ALT: () => this.SUBRULE(this.sequenceStage) },
        {
          GATE: () => this.LA(1).image === "join" || tokenMatcher(this.LA(1), token.Unless),
          ALT: () => this.SUBRULE(this.joinStage),
        },
        { ALT: () => this.SUBRULE(this.keepStage) },
      ],
    });
  });

  readonly assignStage: GrammarRule = this.RULE("assignStage", () => {
    this.SUBRULE(this.label);
    this.CONSUME(token.Equal);
    this.CONSUME(token.Name, { ERR_MSG: expected.function });
    this.CONSUME(token.LeftParen, { ERR_MSG: "`(`" });
    this.OPTION(() => {
      this.SUBRULE2(this.label);
      this.OPTION2(() => {
        this.CONSUME(token.Comma);
        this.CONSUME(token.NumberToken, { ERR_MSG: "a number of rows" });
      });
    });
    this.CONSUME(token.RightParen, { ERR_MSG: expected.argumentEnd });
    this.OPTION3(() => this.SUBRULE(this.rowGrouping));
    this.OPTION4(() => this.SUBRULE(this.within));
  });

  readonly keepStage: GrammarRule = this.RULE("keepStage", () => {
    this.CONSUME(token.Name, { ERR_MSG: "`first` or `last`" });
    this.SUBRULE(this.rowGrouping);
  });

  readonly sequenceStage: GrammarRule = this.RULE("sequenceStage", () => {
    this.CONSUME(token.Name);
    this.CONSUME(token.LeftParen);
    this.SUBRULE(this.sequenceStep);
    this.MANY({
      GATE: () => this.LA(1).image === "then",
      DEF: () => {
        this.CONSUME2(token.Name);
        this.SUBRULE2(this.sequenceStep);
      },
    });
    this.CONSUME(token.RightParen, { ERR_MSG: expected.stepsEnd });
    this.OPTION(() => this.SUBRULE(this.rowGrouping));
    this.OPTION2(() => this.SUBRULE(this.within));
  });

  readonly sequenceStep: GrammarRule = this.RULE("sequenceStep", () => {
    this.OPTION({
      // `not != "a"` is the word before a line filter. A label of that name needs quotes there.
      GATE: () => this.LA(1).image === "not" && !labelComparisons.includes(this.LA(2).tokenType),
      DEF: () => this.CONSUME(token.Name),
    });
    this.OR({
      DEF: [{ ALT: () => this.SUBRULE(this.lineFilter) }, { ALT: () => this.SUBRULE(this.labelFilter) }],
      ERR_MSG: expected.step,
    });
    this.MANY(() => {
      this.OR2([
        { ALT: () => this.SUBRULE2(this.lineFilter) },
        {
          ALT: () => {
            this.CONSUME(token.Pipe);
            this.SUBRULE2(this.labelFilter);
          },
        },
      ]);
    });
  });

  readonly joinStage: GrammarRule = this.RULE("joinStage", () => {
    this.OR([{ ALT: () => this.CONSUME(token.Name) }, { ALT: () => this.CONSUME(token.Unless) }]);
    this.CONSUME(token.LeftParen, { ERR_MSG: expected.joined });
    this.SUBRULE(this.selector);
    this.CONSUME(token.RightParen, { ERR_MSG: "a stage or `)`" });
    this.CONSUME(token.On, { ERR_MSG: expected.on });
    this.CONSUME2(token.LeftParen);
    this.SUBRULE(this.joinedLabels);
    this.MANY(() => {
      this.CONSUME(token.Comma);
      this.SUBRULE2(this.joinedLabels);
    });
    this.CONSUME2(token.RightParen, { ERR_MSG: expected.labelsEnd });
    this.OPTION(() => this.SUBRULE(this.within));
  });

  readonly joinedLabels: GrammarRule = this.RULE("joinedLabels", () => {
    this.SUBRULE(this.label);
    this.OPTION(() => {
      this.CONSUME(token.Equal);
      this.SUBRULE2(this.label);
    });
  });

  readonly rowGrouping: GrammarRule = this.RULE("rowGrouping", () => {
    this.CONSUME(token.By, { ERR_MSG: expected.by });
    this.SUBRULE(this.labels);
  });

  readonly within: GrammarRule = this.RULE("within", () => {
    // Any other name is an error of the rule around it.
    this.CONSUME(token.Name);
    this.OR({
      DEF: [{ ALT: () => this.CONSUME(token.QuantityToken) }, { ALT: () => this.CONSUME(token.Variable) }],
      ERR_MSG: expected.duration,
    });
  });
}
