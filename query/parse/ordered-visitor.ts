import type { CstNode, IToken } from "chevrotain";
import { rowFunctions } from "../text/keywords.ts";
import { refuse, type Source } from "../text/source.ts";
import { findClosest } from "../text/suggestion.ts";
import { spanOfToken } from "../text/tokens.ts";
import type { Duration } from "../tree/duration.ts";
import type { Label } from "../tree/label.ts";
import { makeNumberLiteral } from "../tree/number-literal.ts";
import {
  type AssignStage,
  type KeepStage,
  makeOrderedStage,
  type RowFunction,
  type RowGroups,
  type SequencePart,
  type SequenceStage,
} from "../tree/ordered-stage.ts";
import type { JoinedLabels, JoinStage, OrderedStage, TelemetrySelector } from "../tree/selector.ts";
import { type LabelCondition, type LabelFilter, type LineFilter, makeLabelFilter } from "../tree/stage.ts";
import type { Variable } from "../tree/variable.ts";
import {
  beginOf,
  childOf,
  childrenOf,
  firstTokenOf,
  optionalChildOf,
  tokensOf,
} from "./concrete-syntax-tree.ts";

/** The rules of the grammar that other stages have, too. */
export interface SingleRowRules {
  label(cst: CstNode): Label;
  labels(cst: CstNode): Label[];
  lineFilter(cst: CstNode): LineFilter;
  labelFilter(cst: CstNode): LabelCondition;
  selector(cst: CstNode): TelemetrySelector;
  durationOf(token: IToken): Duration | Variable;
  recordSpan<Node extends object>(node: Node, at: IToken): Node;
}

/** Builds the nodes of stages that look at several rows. The parts that other stages have, too, are left to `visitor`. */
export class OrderedVisitor {
  readonly #visitor: SingleRowRules;
  readonly #source: Source;

  constructor(visitor: SingleRowRules, source: Source) {
    this.#visitor = visitor;
    this.#source = source;
  }

  stage(cst: CstNode): OrderedStage {
    const [node] = Object.values(cst.children).flat() as [CstNode];
    const stage = this.#read(node);
    return this.#visitor.recordSpan(stage, beginOf(node));
  }

  #read(cst: CstNode): OrderedStage {
    switch (cst.name) {
      case "assignStage":
        return this.#assign(cst);
      case "sequenceStage":
        return this.#sequence(cst);
      case "joinStage":
        return this.#join(cst);
      default:
        return this.#keep(cst);
    }
  }

  #assign(cst: CstNode): AssignStage {
    const [label, of] = childrenOf(cst, "label").map((each) => this.#visitor.label(each));
    const [name] = tokensOf(cst, "Name");
    const op = rowFunctions.find((each) => each === name!.image);
    if (op === undefined) {
      const closest = findClosest(name!.image, [...rowFunctions]);
      const meant = closest === undefined ? "" : `; did you mean ${closest}?`;
      const problem = `no function ${name!.image} of the rows of a group${meant} There are ${rowFunctions.join(", ")}`;
      refuse(this.#source, spanOfToken(name!), meant === "" ? problem.replace(" There", "; there") : problem);
    }
    const [count] = tokensOf(cst, "Number");
    this.#checkArguments(op, of, count !== undefined, cst);
    return makeOrderedStage({
      ...{ kind: "assign", label: label!, op, of: of ?? null },
      count: count === undefined ? null : this.#visitor.recordSpan(makeNumberLiteral(count.image), count),
      ...this.#groups(cst),
    });
  }

  #checkArguments(op: RowFunction, of: Label | undefined, isCounted: boolean, cst: CstNode): void {
    const at = spanOfToken(tokensOf(cst, "Name")[0]!);
    const isRead = op === "lag" || op === "lead" || op === "first" || op === "last";
    if (isRead && of === undefined) refuse(this.#source, at, `${op} takes the label to read: ${op}(message)`);
    if (!isRead && of !== undefined) refuse(this.#source, at, `${op} takes no label: ${op}()`);
    if (isCounted && op !== "lag" && op !== "lead") refuse(this.#source, at, `${op} takes no number of rows`);
  }

  #keep(cst: CstNode): KeepStage {
    const word = firstTokenOf(cst);
    if (word.image !== "first" && word.image !== "last")
      refuse(
        this.#source,
        spanOfToken(word),
        `${word.image} is followed by ( ); \`first by (…)\` keeps one row`,
      );
    return makeOrderedStage({
      ...{ kind: "keep", row: word.image === "first" ? "first" : "last" },
      ...this.#groups(cst),
    });
  }

  #sequence(cst: CstNode): SequenceStage {
    const steps = childrenOf(cst, "sequenceStep").map((each) => this.#sequenceStep(each));
    return makeOrderedStage({ kind: "sequence", steps, ...this.#groups(cst) });
  }

  #sequenceStep(cst: CstNode): SequencePart {
    const filters = Object.values(cst.children)
      .flat()
      .filter((each): each is CstNode => "name" in each)
      .sort((a, b) => beginOf(a).startOffset - beginOf(b).startOffset)
      .map((each): LineFilter | LabelFilter =>
        each.name === "lineFilter"
          ? this.#visitor.lineFilter(each)
          : makeLabelFilter(this.#visitor.labelFilter(each)),
      );
    const step = { isNot: tokensOf(cst, "Name").length > 0, filters: Object.freeze(filters) };
    return this.#visitor.recordSpan(step, beginOf(cst));
  }

  #join(cst: CstNode): JoinStage {
    return makeOrderedStage({
      kind: "join",
      isUnless: tokensOf(cst, "Unless").length > 0,
      of: this.#visitor.selector(childOf(cst, "selector")),
      on: childrenOf(cst, "joinedLabels").map((each) => this.#joinedLabels(each)),
      within: this.#within(cst),
    });
  }

  #joinedLabels(cst: CstNode): JoinedLabels {
    const [left, right = left] = childrenOf(cst, "label").map((each) => this.#visitor.label(each));
    return { left: left!, right: right! };
  }

  #groups(cst: CstNode): RowGroups {
    const grouping = optionalChildOf(cst, "rowGrouping");
    const by = grouping === undefined ? [] : this.#visitor.labels(childOf(grouping, "labels"));
    return { by, within: this.#within(cst) };
  }

  #within(cst: CstNode): RowGroups["within"] {
    const within = optionalChildOf(cst, "within");
    if (within === undefined) return null;
    const [word] = tokensOf(within, "Name");
    if (word!.image !== "within") {
      const problem = `after the stage stands \`within\` and a duration, not \`${word!.image}\``;
      refuse(this.#source, spanOfToken(word!), problem);
    }
    return this.#visitor.durationOf((tokensOf(within, "Quantity")[0] ?? tokensOf(within, "Variable")[0])!);
  }
}
