/** Random selectors of logs and spans. */
import type { Random } from "../../../fixtures/random.ts";
import {
  type Condition,
  contains,
  equals,
  exceeds,
  type Inequality,
  join,
  type LineFilter,
  matches,
  searches,
} from "./condition.ts";
import { paths } from "./dataset.ts";
import {
  extractGroups,
  extractJson,
  extractLogfmt,
  extractPattern,
  type PatternPiece,
} from "./extraction.ts";
import { drawChanges, type FormatPiece, format, printFormat } from "./format.ts";
import type { JoinLabel, RowFunction } from "./ordered.ts";
import type { RowSource } from "./row.ts";
import {
  change,
  filterLabels,
  filterLines,
  joinRows,
  keepEnd,
  label,
  type PrintedStep,
  type Selector,
  type Stage,
  select,
  sequence,
} from "./selector.ts";
import { drawExpression, quote } from "./text.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Labels that may be in milliseconds, which no bytes compare with. */
const isMilliseconds = (label: string) =>
  /duration_ms$|^(since|until|sequence)_\w*ms$|^(before|next)$/.test(label);

export interface SelectorWish {
  source: RowSource;
  /** Stages over several rows have `within`, so that the answer does not depend on the range. */
  needsWithin: boolean;
  hasOrdered: boolean;
  /** The signal stands before the braces, as `{…}` means another one there. */
  isNamed?: boolean;
}

/** Draws selectors, with labels that the stages so far have made. */
export class SelectorDraw {
  readonly #random: Random;
  readonly #vocabulary: Vocabulary;
  readonly #wish: SelectorWish;
  #labels: [string, readonly string[]][];
  /** Labels of this selector that rows may be grouped by. */
  readonly made: string[] = [];

  constructor(random: Random, vocabulary: Vocabulary, wish: SelectorWish) {
    this.#random = random;
    this.#vocabulary = vocabulary;
    this.#wish = wish;
    const labels = wish.source === "logs" ? vocabulary.logLabels : vocabulary.spanLabels;
    this.#labels = labels.map(([name, values]) => [name, values]);
  }

  draw(): Selector {
    const random = this.#random;
    const matchers = Array.from({ length: random.below(2) }, () => this.#drawMatcher());
    const stages: Stage[] = [];
    if (random.oneIn(3)) stages.push(this.#drawFilter());
    if (this.#wish.source === "logs")
      for (let i = random.below(3); i > 0; i--) stages.push(this.#drawExtraction());
    if (random.oneIn(3)) stages.push(this.#drawFilter());
    if (random.oneIn(8)) stages.push(this.#drawFormat());
    if (this.#wish.hasOrdered) {
      for (let i = 1 + random.below(2); i > 0; i--) stages.push(this.#drawOrdered());
      for (let i = random.below(2); i > 0; i--) stages.push(this.#drawFilter());
    }
    if (random.oneIn(4)) {
      stages.push(this.#drawFormat());
      const more = this.#wish.hasOrdered ? 0 : random.below(2);
      for (let i = more; i > 0; i--) stages.push(this.#drawFilter());
    }
    return select(this.#wish.source, matchers, stages, random, this.#wish.isNamed);
  }

  /** A label to group by. */
  drawLabel(): string {
    const random = this.#random;
    if (this.made.length > 0 && random.oneIn(2)) return random.pick(this.made);
    return random.pick(this.#labels)[0];
  }

  #add(name: string, values: readonly string[]): void {
    this.#labels.push([name, values], [name, values]);
    this.made.push(name);
  }

  #drawMatcher(): Condition {
    const random = this.#random;
    const [name, values] = random.pick(this.#labels);
    // A condition that always holds names no label, so that a search does not show those of a joined row beside it.
    const isAny = random.oneIn(12) && !this.#labels.some(([own]) => /^(logs|traces)\./.test(own));
    const kind = random.below(8);
    if (kind < 4)
      return equals(name, random.oneIn(3) ? "!=" : "=", isAny ? "*" : random.pick(values), random);
    if (kind < 6) {
      const literals = values.filter((value) => value.length < 30);
      const expression = drawExpression(random, literals.length > 0 ? literals : ["a"]);
      return matches(name, random.oneIn(3) ? "!~" : "=~", expression, random);
    }
    const op = random.pick<Inequality>([">", ">=", "<", "<="]);
    const numbers = ["0", "12", "200", "500.5", "-1", "1e3", "1500"];
    const units = isMilliseconds(name)
      ? ["20ms", "1.5s", "1h30m", "250ms"]
      : ["20ms", "1.5s", "1h30m", "1KiB", "1.5MB", "2KB", "250ms", "1s"];
    return exceeds(name, op, random.pick(random.oneIn(2) ? numbers : units), random);
  }

  #drawCondition(depth: number): Condition {
    const random = this.#random;
    if (depth === 0 || random.oneIn(2)) return this.#drawMatcher();
    const parts = Array.from({ length: 2 + random.below(2) }, () => this.#drawCondition(depth - 1));
    return join(random.oneIn(3) ? "and" : "or", parts, random);
  }

  #drawLineFilter(): LineFilter {
    const random = this.#random;
    const isNegated = random.oneIn(3);
    const count = random.oneIn(3) ? 2 : 1;
    const texts = this.#vocabulary.texts;
    if (random.oneIn(2))
      return contains(
        Array.from({ length: count }, () => random.pick(texts)),
        isNegated,
        random,
      );
    const literals = texts.filter((text) => text !== "" && !text.includes("\n"));
    return searches(
      Array.from({ length: count }, () => drawExpression(random, literals)),
      isNegated,
      random,
    );
  }

  #drawFilter(): Stage {
    return this.#random.oneIn(2) ? filterLines(this.#drawLineFilter()) : filterLabels(this.#drawCondition(2));
  }

  #drawExtraction(): Stage {
    const random = this.#random;
    switch (random.below(4)) {
      case 0: {
        for (const name of ["status_extracted", "user.id", "path", "took_extracted"])
          this.#add(name, ["500", "u1", "20ms"]);
        this.#add("a", ["1", "2", ""]);
        this.#add("__error__", ["", "JSONParserErr"]);
        return change("| json", "json", extractJson);
      }
      case 1: {
        for (const name of ["level", "path", "a"]) this.#add(name, ["WARN", "error", "/cart", "1=2"]);
        return change("| logfmt", "logfmt", extractLogfmt);
      }
      case 2:
        return this.#drawPattern();
      default:
        return this.#drawGroups();
    }
  }

  #drawPattern(): Stage {
    const random = this.#random;
    const drawn: readonly PatternPiece[][] = [
      [
        { name: "method" },
        { literal: " " },
        { name: "path" },
        { literal: " " },
        { name: "code" },
        { literal: " in " },
        { name: "ms" },
        { literal: "ms" },
      ],
      [{ name: "method" }, { literal: " " }, { name: "_" }, { literal: " in " }, { name: "took" }],
      [{ literal: "retry " }, { name: "ms" }, { literal: " of " }, { name: "code" }],
      [{ name: "method" }, { literal: ": " }, { name: "rest" }],
      [{ name: "_" }, { literal: "=" }, { name: "path" }, { literal: " " }],
      [
        { name: "_" },
        { literal: random.pick(this.#vocabulary.texts.filter((text) => /^[\w /.:]+$/.test(text))) },
        { name: "rest" },
      ],
    ];
    const pieces = random.pick(drawn);
    for (const piece of pieces)
      if ("name" in piece && piece.name !== "_") this.#add(piece.name, ["GET", "500", "12", ...paths]);
    const text = pieces.map((piece) => ("literal" in piece ? piece.literal : `<${piece.name}>`)).join("");
    return change(`| pattern ${quote(text, random)}`, "pattern", (row) => extractPattern(row, pieces));
  }

  #drawGroups(): Stage {
    const random = this.#random;
    const [text, script] = random.pick([
      ["in (?P<took>[0-9a-z]+)", "in (?<took>[0-9a-z]+)"],
      ["(?P<method>GET|POST) (?P<path>/[a-z]*)", "(?<method>GET|POST) (?<path>/[a-z]*)"],
      ["(?P<code>[0-9]{3})|(?P<word>[a-z]{4,})", "(?<code>[0-9]{3})|(?<word>[a-z]{4,})"],
      ["^(?P<first>\\w*)(?P<rest>.*)$", "^(?<first>\\w*)(?<rest>[^\\n]*)$"],
      ["(?<ms>[0-9]+)(?:ms)?", "(?<ms>[0-9]+)(?:ms)?"],
    ] as const);
    for (const [, name] of text.matchAll(/\?P?<(\w+)>/g)) this.#add(name!, ["GET", "500", "12", "error"]);
    const pattern = new RegExp(script, "u");
    return change(`| regexp ${quote(text, random)}`, "regexp", (row) => extractGroups(row, pattern));
  }

  #drawFormat(): Stage {
    const random = this.#random;
    const pieces: FormatPiece[] = [];
    const count = 1 + random.below(3);
    for (let i = 0; i < count; i++) {
      if (random.oneIn(2)) pieces.push({ literal: random.pick([" ", ": ", "x=", "–", '"']) });
      const names = this.#wish.source === "logs" ? ["__line__", "__timestamp__"] : ["__timestamp__"];
      const name = random.oneIn(4) ? random.pick(names) : this.drawLabel();
      pieces.push({
        label: /^\w+(\.\w+)*$/.test(name) ? name : "__timestamp__",
        changes: drawChanges(random),
      });
    }
    if (this.#wish.source === "logs" && random.oneIn(2)) {
      const text = `| line_format ${printFormat(pieces, random)}`;
      return change(text, "line_format", (row) => {
        row.message = format(pieces, row);
      });
    }
    const [name, renamed, old] = ["made", "renamed", this.drawLabel()];
    const renames = random.oneIn(2) && /^[a-z_.]+$/i.test(old) && old !== "message" && old !== "log_level";
    const text = `| label_format ${name} = ${printFormat(pieces, random)}${renames ? `, ${renamed} = ${old}` : ""}`;
    this.#add(name, ["GET", "none"]);
    return change(text, "label_format", (row) => {
      const [made, value] = [format(pieces, row), row.readLabel(old)];
      if (renames) row.setLabel(old, undefined);
      row.setLabel(name, made);
      if (renames) row.setLabel(renamed, value);
    });
  }

  #drawBy(): string[] | undefined {
    const random = this.#random;
    if (random.oneIn(4)) return undefined;
    const usual =
      this.#wish.source === "logs"
        ? ["service.name", "log_level", "trace_id"]
        : ["service.name", "trace_id", "kind"];
    const by = [
      random.oneIn(4) ? this.drawLabel() : random.pick(usual),
      ...(random.oneIn(4) ? ["service.name"] : []),
    ];
    return [...new Set(by.filter((name) => this.#isHad(name)))];
  }

  /** Labels that rows without a text have with the empty text leave open whether such rows are in a group. */
  #isHad(name: string): boolean {
    const isCalculated = /^(since|until|row|sequence|message$)/.test(name);
    return !isCalculated && !["retry", "k8s.namespace.name", "status", "http.status", "name"].includes(name);
  }

  #drawWithin(): number {
    return this.#random.pick([250, 1000, 5000, 60_000, 90_000, 600_000]);
  }

  #drawOrdered(): Stage {
    const random = this.#random;
    const withinMs = this.#wish.needsWithin || random.oneIn(2) ? this.#drawWithin() : undefined;
    switch (random.below(this.#wish.needsWithin ? 7 : 9)) {
      case 0:
      case 1:
      case 2:
        return this.#drawGiven(withinMs);
      case 3:
      case 4:
        return this.#drawSequence(withinMs ?? this.#drawWithin());
      case 5:
      case 6:
        return this.#drawJoin(withinMs);
      default: {
        const by = this.#drawBy() ?? [];
        return keepEnd(random.oneIn(2) ? "first" : "last", by.length === 0 ? ["service.name"] : by, random);
      }
    }
  }

  #drawGiven(withinMs: number | undefined): Stage {
    const random = this.#random;
    const names = ["lag", "lead", "first", "last", "since_previous", "until_next", "since_first"] as const;
    const name = !this.#wish.needsWithin && random.oneIn(8) ? "row_number" : random.pick(names);
    const of = this.drawLabel();
    let read: RowFunction;
    if (name === "lag" || name === "lead")
      read = { name, label: of, distance: random.oneIn(2) ? 1 : 1 + random.below(3) };
    else if (name === "first" || name === "last") read = { name, label: of };
    else read = { name };
    const given = "label" in read ? random.pick(["before", "next"]) : `${name}_ms`;
    const values = this.#labels.find(([own]) => own === of)?.[1] ?? [];
    this.#add(given, "label" in read ? values : ["1", "1000"]);
    const by = this.#drawBy();
    return label(
      given,
      read,
      { by: by?.length === 0 ? undefined : by, withinMs: name === "row_number" ? undefined : withinMs },
      random,
    );
  }

  #drawStep(isNot: boolean): PrintedStep {
    const random = this.#random;
    if (random.oneIn(2)) {
      const line = this.#drawLineFilter();
      return { isNot, text: line.text, passes: (row) => line.passesText(row.text) };
    }
    const condition = this.#drawMatcher();
    if (!random.oneIn(4)) return { isNot, text: condition.text, passes: (row) => condition.passes(row) };
    const line = this.#drawLineFilter();
    const passes: PrintedStep["passes"] = (row) => condition.passes(row) && line.passesText(row.text);
    return { isNot, text: `${condition.text} ${line.text}`, passes };
  }

  #drawSequence(withinMs: number): Stage {
    const random = this.#random;
    const steps: PrintedStep[] = [];
    if (random.oneIn(4)) steps.push(this.#drawStep(true));
    for (let i = random.below(3); i >= 0; i--) {
      steps.push(this.#drawStep(false));
      if (random.oneIn(4)) steps.push(this.#drawStep(true));
    }
    const by = this.#drawBy();
    this.made.push("sequence_ms");
    this.#labels.push(["sequence_ms", ["1000"]]);
    return sequence(steps, by?.length === 0 ? undefined : by, withinMs, random);
  }

  #drawJoin(withinMs: number | undefined): Stage {
    const random = this.#random;
    const other: RowSource = random.oneIn(4)
      ? this.#wish.source
      : this.#wish.source === "logs"
        ? "traces"
        : "logs";
    const inner = new SelectorDraw(random, this.#vocabulary, {
      ...{ source: other, needsWithin: this.#wish.needsWithin },
      hasOrdered: false,
      isNamed: true,
    }).draw();
    const on = random.pick<JoinLabel[]>([
      [{ own: "trace_id", other: "trace_id" }],
      [{ own: "service.name", other: "service.name" }],
      [
        { own: "trace_id", other: "trace_id" },
        { own: "service.name", other: "service.name" },
      ],
    ]);
    const kind = random.oneIn(3) ? "unless" : "join";
    if (kind === "join") {
      this.#add(`${other}.service.name`, ["cart", "/k8s/shop/web"]);
      if (other === "logs") this.#add("logs.status", ["200"]);
      else
        for (const name of ["duration_ms", "kind", "http.status"])
          this.#add(`traces.${name}`, ["12", "server"]);
    }
    return joinRows(kind, inner, on, withinMs, random);
  }
}
