import type { Variable } from "./variable.ts";

/** A part of a string literal that is not a variable, with its escapes resolved. */
export interface Characters {
  readonly kind: "characters";
  readonly text: string;
}

/**
 * A text in quotes. No part is empty, and two `characters` are never neighbours, so that equal texts have equal nodes.
 * Unquoted labels and names of metrics are string literals too.
 */
export interface StringLiteral {
  readonly kind: "string";
  readonly parts: readonly (Characters | Variable)[];
}

export function makeStringLiteral(parts: readonly (Characters | Variable)[]): StringLiteral {
  return Object.freeze({ kind: "string", parts: Object.freeze([...parts]) });
}

export function makeCharacters(text: string): Characters {
  return Object.freeze({ kind: "characters", text });
}

/** A string literal without variables. */
export function makePlainString(content: string): StringLiteral {
  return makeStringLiteral(content === "" ? [] : [makeCharacters(content)]);
}

const controlCharacter = /\p{Cc}/u;

/** Prints a string literal in double quotes, or in back quotes where that saves escapes. */
export function printStringLiteral(node: StringLiteral): string {
  const [only, ...more] = node.parts;
  if (only?.kind === "characters" && more.length === 0 && fitsBackQuotes(only.text))
    return `\`${only.text}\``;
  let printed = "";
  let previous: Characters | Variable | undefined;
  for (const part of node.parts) {
    if (part.kind === "variable") printed += `$${part.name}`;
    else printed += escapeCharacters(part.text, previous?.kind === "variable");
    previous = part;
  }
  return `"${printed}"`;
}

function fitsBackQuotes(content: string): boolean {
  if (!/["\\]/.test(content)) return false;
  return !content.includes("`") && !controlCharacter.test(content) && !/\$[A-Za-z_]/.test(content);
}

function escapeCharacters(content: string, afterVariable: boolean): string {
  const plain = content
    .replace(/[\\"]/g, "\\$&")
    .replace(/\$(?=[A-Za-z_])/g, "\\$")
    .replace(/\p{Cc}/gu, (control) => escapeControl(control));
  // A character right after a variable could be read as part of the variable's name, so it is escaped.
  return afterVariable ? plain.replace(/^[A-Za-z0-9_]/, (letter) => `\\x${toHex(letter, 2)}`) : plain;
}

function escapeControl(control: string): string {
  if (control === "\n") return "\\n";
  if (control === "\t") return "\\t";
  return `\\u${toHex(control, 4)}`;
}

function toHex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, "0");
}
