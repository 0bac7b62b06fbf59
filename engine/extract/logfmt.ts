/** `key=value` pairs as programs print them; what is no pair is passed over. */
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
    at = skip(message, at, isSpace);
    const keyEnd = skip(message, at, isKeyUnit);
    if (keyEnd === at) {
      at = skip(message, at, isNotSpace);
      continue;
    }
    const key = message.slice(at, keyEnd);
    at = keyEnd;
    if (message[at] !== "=") continue;
    const value = message[at + 1] === '"' ? quoted(message, at + 2) : bare(message, at + 1);
    if (value === undefined || !emit(key, value.text)) return;
    at = value.end;
  }
}

interface Value {
  text: string;
  end: number;
}

function bare(message: string, from: number): Value {
  const end = skip(message, from, isNotSpace);
  return { text: message.slice(from, end), end };
}

/** The value up to the closing quote; undefined where none follows. */
function quoted(message: string, from: number): Value | undefined {
  let at = from;
  while (at < message.length && message[at] !== '"') at += message[at] === "\\" ? 2 : 1;
  if (at >= message.length) return undefined;
  return { text: resolveEscapes(message.slice(from, at)), end: at + 1 };
}

function resolveEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(.))/gs,
    (whole, code: string | undefined, unit: string | undefined) =>
      code !== undefined ? String.fromCharCode(Number.parseInt(code, 16)) : (escapes[unit!] ?? whole),
  );
}

function skip(text: string, from: number, passes: (unit: number) => boolean): number {
  let at = from;
  while (at < text.length && passes(text.charCodeAt(at))) at++;
  return at;
}

const isSpace = (unit: number): boolean => unit <= 0x20;
const isNotSpace = (unit: number): boolean => unit > 0x20;
const isKeyUnit = (unit: number): boolean => unit > 0x20 && unit !== 0x3d && unit !== 0x22;
