/** Reads the parts of lines of InfluxDB's line protocol. */

import { RowProblem } from "../json/json-row.ts";

const backslash = "\\";
const spaces = /[ \t]*/y;
const time = /-?\d{1,20}(?=[ \t\r]*(?:\n|$))/y;
const lineEnd = /[ \t\r]*(?:\n|$)/y;
const unquoted = /[^, \t\r\n]+/y;

export class LineScanner {
  readonly #text: string;
  #at = 0;
  /** The line was read to its end. */
  #isAtEnd = true;

  constructor(text: string) {
    this.#text = text;
  }

  /** Moves to the next line that is neither blank nor a comment; returns false where there is none. */
  findLine(): boolean {
    for (;;) {
      while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
      this.#isAtEnd = false;
      if (this.#text[this.#at] !== "#") return this.#at < this.#text.length;
      this.endLine();
    }
  }

  /** Moves past the end of the line, whatever is left of it. */
  endLine(): void {
    if (this.#isAtEnd) return;
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end + 1;
  }

  /**
   * Reads a name up to one of the characters in `ends`. A backslash takes their meaning from commas, spaces, equals
   * signs and itself. Throws RowProblem where the name is empty or the line ends within it.
   */
  readName(ends: string, what: string): string {
    let name = "";
    let from = this.#at;
    for (; ; this.#at++) {
      const character = this.#text[this.#at];
      if (character === undefined || character === "\n" || ends.includes(character)) break;
      if (character !== backslash || !", =\\".includes(this.#text[this.#at + 1] ?? "\n")) continue;
      name += this.#text.slice(from, this.#at);
      from = ++this.#at;
    }
    name += this.#text.slice(from, this.#at);
    if (name === "") throw this.#makeProblem(what);
    return name;
  }

  /** The text of a field's value; undefined for a text in quotes. Throws RowProblem. */
  readFieldValue(): string | undefined {
    if (this.#text[this.#at] !== '"') {
      const text = this.#match(unquoted);
      if (text === undefined) throw this.#makeProblem("a field's value");
      return text;
    }
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      if (this.#text[i] === backslash) i++;
      else if (this.#text[i] === '"') {
        this.#at = i + 1;
        return undefined;
      }
    }
    throw this.#makeProblem("a quote at the end of the text");
  }

  /** Reads the rest of the line: its time in nanoseconds, undefined where it has none. Throws RowProblem. */
  readTime(unitNs: bigint): bigint | undefined {
    this.skipSpaces();
    const digits = this.#match(time);
    if (this.#match(lineEnd) === undefined) throw this.#makeProblem("a time, or the end of the line");
    this.#isAtEnd = true;
    return digits === undefined ? undefined : BigInt(digits) * unitNs;
  }

  skipSpaces(): void {
    this.#match(spaces);
  }

  /** Moves past a character where it is the next one. */
  take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  /** Throws RowProblem unless the character is the next one. */
  expect(character: string, what: string): void {
    if (!this.take(character)) throw this.#makeProblem(what);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #makeProblem(what: string): RowProblem {
    const lineStart = this.#text.lastIndexOf("\n", this.#at - 1) + 1;
    const rest = this.#text.slice(this.#at, this.#at + 40).split("\n", 1)[0];
    const got = rest === "" ? "the line ends" : `got ${JSON.stringify(rest)}`;
    return new RowProblem("field", `character ${this.#at - lineStart + 1}: expected ${what}, ${got}`);
  }
}
