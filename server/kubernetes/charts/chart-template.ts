/**
 * Renders the templates of the charts, for the manifests without Helm and for tests: the part of Go's templates
 * (https://pkg.go.dev/text/template) and of Helm's functions that these charts use. Anything else throws an Error.
 */

import { createHash } from "node:crypto";
import { stringify } from "yaml";

type Node =
  | { kind: "text"; text: string }
  | { kind: "print"; expression: Expression }
  | { kind: "assign"; name: string; expression: Expression }
  | { kind: "if" | "with" | "range"; expression: Expression; then: Node[]; otherwise: Node[] };

type Expression =
  | { kind: "literal"; value: unknown }
  | { kind: "path"; root: string; path: readonly string[] }
  | { kind: "call"; name: string; parameters: Expression[] };

interface Scope {
  dot: unknown;
  variables: Readonly<Record<string, unknown>>;
}

const action = /\{\{(-?)\s*((?:"(?:[^"\\]|\\.)*"|(?!-?\}\})[\s\S])*?)\s*(-?)\}\}/g;
const token = /"(?:[^"\\]|\\.)*"|\(|\)|\||:=|[^\s()|]+/g;

/** Templates that may include each other by name. */
export class ChartTemplates {
  readonly #named = new Map<string, Node[]>();

  /** Adds the templates that a file defines. Returns what remains of it. */
  add(source: string): Node[] {
    const reader = new TemplateReader(source, this.#named);
    return reader.read();
  }

  render(nodes: readonly Node[], data: unknown): string {
    return this.#renderAll(nodes, { dot: data, variables: { $: data } });
  }

  #renderAll(nodes: readonly Node[], scope: Scope): string {
    let text = "";
    let { variables } = scope;
    for (const node of nodes) {
      const inner = { ...scope, variables };
      if (node.kind === "text") text += node.text;
      else if (node.kind === "print") text += toText(this.#evaluate(node.expression, inner));
      else if (node.kind === "assign") {
        variables = { ...variables, [node.name]: this.#evaluate(node.expression, inner) };
      } else text += this.#renderBlock(node, inner);
    }
    return text;
  }

  #renderBlock(node: Extract<Node, { then: Node[] }>, scope: Scope): string {
    const value = this.#evaluate(node.expression, scope);
    if (!isTrue(value)) return this.#renderAll(node.otherwise, scope);
    if (node.kind === "if") return this.#renderAll(node.then, scope);
    if (node.kind === "with") return this.#renderAll(node.then, { ...scope, dot: value });
    if (!Array.isArray(value)) throw new Error("range goes over lists alone");
    return value.map((dot: unknown) => this.#renderAll(node.then, { ...scope, dot })).join("");
  }

  #evaluate(expression: Expression, scope: Scope): unknown {
    if (expression.kind === "literal") return expression.value;
    if (expression.kind === "path") return lookUp(expression, scope);
    const values = expression.parameters.map((each) => this.#evaluate(each, scope));
    if (expression.name === "include") {
      const [name, dot] = values;
      const nodes = this.#named.get(String(name));
      if (nodes === undefined) throw new Error(`no template is called ${String(name)}`);
      return this.#renderAll(nodes, { dot, variables: { $: dot } });
    }
    const call = functions[expression.name];
    if (call === undefined) throw new Error(`no function is called ${expression.name}`);
    return call(...values);
  }
}

class TemplateReader {
  readonly #pieces: ({ text: string } | { action: string })[] = [];
  readonly #named: Map<string, Node[]>;
  #at = 0;

  constructor(source: string, named: Map<string, Node[]>) {
    this.#named = named;
    let end = 0;
    let trims = false;
    for (const match of source.matchAll(action)) {
      const [whole, before, content, after] = match as unknown as [string, string, string, string];
      this.#addText(source.slice(end, match.index), trims, before === "-");
      this.#pieces.push({ action: content });
      trims = after === "-";
      end = match.index + whole.length;
    }
    this.#addText(source.slice(end), trims, false);
  }

  #addText(text: string, trimsStart: boolean, trimsEnd: boolean): void {
    const started = trimsStart ? text.trimStart() : text;
    this.#pieces.push({ text: trimsEnd ? started.trimEnd() : started });
  }

  read(): Node[] {
    const nodes = this.#readUntil([]);
    return nodes;
  }

  /** Reads up to an action that begins with one of the words, and leaves it to be read. */
  #readUntil(ends: readonly string[]): Node[] {
    const nodes: Node[] = [];
    for (; this.#at < this.#pieces.length; this.#at++) {
      const piece = this.#pieces[this.#at]!;
      if ("text" in piece) {
        nodes.push({ kind: "text", text: piece.text });
        continue;
      }
      const [word = ""] = piece.action.split(/\s/, 1);
      if (ends.includes(word)) return nodes;
      const node = this.#readAction(word, piece.action);
      if (node !== undefined) nodes.push(node);
    }
    if (ends.length > 0) throw new Error(`a block has no ${ends.join(" or ")}`);
    return nodes;
  }

  #readAction(word: string, text: string): Node | undefined {
    if (text.startsWith("/*")) return undefined;
    if (word === "define") {
      this.#at++;
      this.#named.set(JSON.parse(text.slice(word.length)) as string, this.#readUntil(["end"]));
      return undefined;
    }
    if (word === "if" || word === "with" || word === "range") {
      this.#at++;
      const expression = parseExpression(text.slice(word.length));
      const then = this.#readUntil(["end", "else"]);
      const isElse = (this.#pieces[this.#at] as { action: string }).action === "else";
      if (isElse) this.#at++;
      return { kind: word, expression, then, otherwise: isElse ? this.#readUntil(["end"]) : [] };
    }
    const [, name, value] = /^(\$\w+)\s*:=\s*([\s\S]+)$/.exec(text) ?? [];
    if (name !== undefined) return { kind: "assign", name, expression: parseExpression(value!) };
    return { kind: "print", expression: parseExpression(text) };
  }
}

function parseExpression(text: string): Expression {
  const tokens = text.match(token) ?? [];
  let at = 0;
  const readPipeline = (): Expression => {
    let piped = readCommand();
    while (tokens[at] === "|") {
      at++;
      const next = readCommand();
      // A function without other parameters was read as its name.
      const call = next.kind === "call" ? next : undefined;
      if (call === undefined) throw new Error(`a pipe leads to no function in ${text}`);
      piped = { ...call, parameters: [...call.parameters, piped] };
    }
    return piped;
  };
  const readCommand = (): Expression => {
    const first = readTerm();
    if (first.kind !== "call" || first.parameters.length > 0) return first;
    const parameters: Expression[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") parameters.push(readTerm());
    return { ...first, parameters };
  };
  const readTerm = (): Expression => {
    const each = tokens[at++];
    if (each === undefined) throw new Error(`an expression ends early: ${text}`);
    if (each === "(") {
      const inner = readPipeline();
      if (tokens[at++] !== ")") throw new Error(`a bracket is open in ${text}`);
      return inner;
    }
    if (each.startsWith('"')) return { kind: "literal", value: JSON.parse(each) as string };
    if (/^-?\d+(?:\.\d+)?$/.test(each)) return { kind: "literal", value: Number(each) };
    if (each === "true" || each === "false") return { kind: "literal", value: each === "true" };
    const [, root, rest] = /^(\$\w*)?((?:\.\w+)*|\.)$/.exec(each) ?? [];
    if (rest !== undefined) return { kind: "path", root: root ?? "", path: rest.split(".").filter(Boolean) };
    return { kind: "call", name: each, parameters: [] };
  };
  const parsed = readPipeline();
  if (at < tokens.length) throw new Error(`${tokens[at]} is too much in ${text}`);
  return parsed;
}

function lookUp({ root, path }: { root: string; path: readonly string[] }, scope: Scope): unknown {
  let value = root === "" ? scope.dot : scope.variables[root];
  for (const name of path) {
    if (typeof value !== "object" || value === null) throw new Error(`there is no .${path.join(".")}`);
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

const functions: Readonly<Record<string, (...parameters: unknown[]) => unknown>> = {
  default: (otherwise, value) => (isTrue(value) ? value : otherwise),
  quote: (value) => JSON.stringify(toText(value)),
  trunc: (length, value) => toText(value).slice(0, Number(length)),
  trimSuffix: (suffix, value) => {
    const text = toText(value);
    return text.endsWith(String(suffix)) ? text.slice(0, -String(suffix).length) : text;
  },
  nindent: (spaces, value) => `\n${indent(Number(spaces), toText(value))}`,
  toYaml: (value) => stringify(value, { sortMapEntries: true, lineWidth: 0, schema: "yaml-1.1" }).trimEnd(),
  printf: (format, ...values) =>
    String(format).replaceAll(/%s|%\.3f/g, (verb) =>
      verb === "%s" ? toText(values.shift()) : Number(values.shift()).toFixed(3),
    ),
  list: (...values) => values,
  hasKey: (map, key) => Object.hasOwn(map as object, String(key)),
  upper: (value) => toText(value).toUpperCase(),
  replace: (old, by, value) => toText(value).replaceAll(String(old), String(by)),
  regexFind: (pattern, value) => new RegExp(String(pattern)).exec(toText(value))?.[0] ?? "",
  regexReplaceAll: (pattern, value, by) =>
    toText(value).replace(new RegExp(String(pattern), "g"), String(by)),
  float64: (value) => Number(value),
  mulf: (a, b) => Number(a) * Number(b),
  fail: (message) => {
    throw new Error(String(message));
  },
  required: (message, value) => {
    if (value === undefined || value === null || value === "") throw new Error(String(message));
    return value;
  },
  sha256sum: (value) => createHash("sha256").update(toText(value)).digest("hex"),
  not: (value) => !isTrue(value),
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1),
  or: (...values) => values.find((value) => isTrue(value)) ?? values.at(-1),
};

function indent(spaces: number, text: string): string {
  return text
    .split("\n")
    .map((line) => " ".repeat(spaces) + line)
    .join("\n");
}

/** Empty values are false in templates. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") throw new Error("an object is no text: pass it to toYaml");
  return String(value);
}
