/**
 * Extracts the members of a message that is one JSON object (RFC 8259). Numbers and arrays keep their text as it is in
 * the message. JSON.parse, whose result would print them differently, only validates the message.
 */
import type { Emit } from "./extraction.ts";

/** An object nested deeper is one value: its text. */
const depthMax = 32;

export function extractJson(message: string, emit: Emit): void {
  const start = skipSpace(message, 0);
  if (start === message.length) return;
  if (message[start] !== "{" || !isJson(message)) {
    emit("__error__", "JSONParserErr");
    return;
  }
  walkMembers(message, start, "", 1, emit);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    // Any other error is a bug here.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/**
 * Emits the members of the valid JSON object at `from`; returns the offset after it, or -1 where `emit` asks to stop.
 */
function walkMembers(text: string, from: number, prefix: string, depth: number, emit: Emit): number {
  let at = skipSpace(text, from + 1);
  while (text[at] !== "}") {
    const keyEnd = findStringEnd(text, at);
    const key = decodeString(text, at, keyEnd);
    at = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const name = prefix === "" && depth === 1 ? key : `${prefix}.${key}`;
    at = readValue(text, at, name, depth, emit);
    if (at < 0) return -1;
    at = skipSpace(text, at);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return at + 1;
}

/** Emits one value, unless it is null; returns the offset after it, or -1 where `emit` asks to stop. */
function readValue(text: string, from: number, name: string, depth: number, emit: Emit): number {
  const first = text[from];
  if (first === "{" && depth < depthMax) return walkMembers(text, from, name, depth + 1, emit);
  let end: number;
  let valueText: string | undefined;
  if (first === '"') {
    end = findStringEnd(text, from);
    valueText = decodeString(text, from, end);
  } else if (first === "{" || first === "[") {
    end = findNestedEnd(text, from);
    valueText = text.slice(from, end);
  } else {
    end = from;
    while (end < text.length && !/[\s,}\]]/.test(text[end]!)) end++;
    valueText = first === "n" ? undefined : text.slice(from, end);
  }
  return valueText === undefined || emit(name, valueText) ? end : -1;
}

/** The offset after the closing quote of a string. */
function findStringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function decodeString(text: string, from: number, end: number): string {
  const raw = text.slice(from + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(from, end)) as string).toWellFormed() : raw;
}

/** The offset after an array or object. */
function findNestedEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const unit = text[at];
    if (unit === '"') {
      at = findStringEnd(text, at);
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
