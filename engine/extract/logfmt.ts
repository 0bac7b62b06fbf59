/** Extracts `key=value` pairs (logfmt) and skips all other words. */
import type { Emit } from "./extraction.ts";

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

export function extractLogfmt(message: string, emit: Emit): void {
  let at = 0;
  while (at < message.length) {
    at = skipWhile(message, at, isSpace);
    const keyEnd = skipWhile(message, at, isKeyUnit);
    if (keyEnd === at) {
      at = skipWhile(message, at, isNotSpace);
      continue;
    }
    const key = message.slice(at, keyEnd);
    at = keyEnd;
    if (message[at] !== "=") continue;
    const value = message[at + 1] === '"' ? readQuoted(message, at + 2) : readBare(message, at + 1);
    if (value === undefined || !emit(key, value.text)) return;
    at = value.end;
  }
}

interface Value {
  text: string;
  end: number;
}

function readBare(message: string, from: number): Value {
  const end = skipWhile(message, from, isNotSpace);
  return { text: message.slice(from, end), end };
}

/** Reads the value up to the closing quote; undefined where there is no such quote. */
function readQuoted(message: string, from: number): Value | undefined {
  let at = from;
  while (at < message.length && message[at] !== '"') at += message[at] === "\\" ? 2 : 1;
  if (at >= message.length) return undefined;
  return { text: resolveEscapes(message.slice(from, at)), end: at + 1 };
}

function resolveEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(.))/gs,
    (sequence, code: string | undefined, unit: string | undefined) =>
      code !== undefined ? String.fromCharCode(Number.parseInt(code, 16)) : (escapes[unit!] ?? sequence),
  );
}

function skipWhile(text: string, from: number, isSkipped: (unit: number) => boolean): number {
  let at = from;
  while (at < text.length && isSkipped(text.charCodeAt(at))) at++;
  return at;
}

const isSpace = (unit: number): boolean => unit <= 0x20;
const isNotSpace = (unit: number): boolean => unit > 0x20;
const isKeyUnit = (unit: number): boolean => unit > 0x20 && unit !== 0x3d && unit !== 0x22;
