/**
 * Members of a message that is one JSON object (RFC 8259). Numbers and arrays are taken as the text that stands in the
 * message, so JSON.parse, which would print them anew, only checks that the whole is JSON.
 */
import type { Emit } from "./extraction.ts";

const depthMax = 32;

export function extractJson(message: string, emit: Emit): void {
  const start = skipSpace(message, 0);
  if (start === message.length) return;
  if (message[start] !== "{" || !isJson(message)) {
    emit("__error__", "JSONParserErr");
    return;
  }
  members(message, start, "", 1, emit);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    // Anything but a syntax error is a fault of ours.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Walks an object that begins at `from` and is known to be JSON; returns the offset behind it, or -1 to stop. */
function members(text: string, from: number, prefix: string, depth: number, emit: Emit): number {
  let at = skipSpace(text, from + 1);
  while (text[at] !== "}") {
    const keyEnd = stringEnd(text, at);
    const key = stringValue(text, at, keyEnd);
    at = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const name = prefix === "" && depth === 1 ? key : `${prefix}.${key}`;
    at = value(text, at, name, depth, emit);
    if (at < 0) return -1;
    at = skipSpace(text, at);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return at + 1;
}

/** Takes one value; returns the offset behind it, or -1 to stop. */
function value(text: string, from: number, name: string, depth: number, emit: Emit): number {
  const first = text[from];
  if (first === "{" && depth < depthMax) return members(text, from, name, depth + 1, emit);
  let end: number;
  let taken: string | undefined;
  if (first === '"') {
    end = stringEnd(text, from);
    taken = stringValue(text, from, end);
  } else if (first === "{" || first === "[") {
    end = nestedEnd(text, from);
    taken = text.slice(from, end);
  } else {
    end = from;
    while (end < text.length && !/[\s,}\]]/.test(text[end]!)) end++;
    taken = first === "n" ? undefined : text.slice(from, end);
  }
  return taken === undefined || emit(name, taken) ? end : -1;
}

/** Offset behind the closing quote of a string. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function stringValue(text: string, from: number, end: number): string {
  const raw = text.slice(from + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(from, end)) as string).toWellFormed() : raw;
}

/** Offset behind an array or object. */
function nestedEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const unit = text[at];
    if (unit === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (unit === "{" || unit === "[") depth++;
    if (unit === "}" || unit === "]") depth--;
    at++;
  } while (depth > 0);
  return at;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
