/** Splits a body into rows: JSON lines, the elements of one JSON array, or JSON objects one after the other. */

import { Refusal } from "../../throttle/refusal.ts";

/** Called for each row at [from, to), with the number of its line or element, from 1. */
export type OnRow = (from: number, to: number, line: number) => void;

const newline = 0x0a;
const comma = 0x2c;
const quote = 0x22;
const backslash = 0x5c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * Calls `onRow` for each row in order. Blank lines are counted as lines but are no rows. Throws Refusal 400 where a
 * JSON array does not end properly.
 */
export function forEachRow(bytes: Buffer, onRow: OnRow): void {
  const start = findStart(bytes);
  const first = skipBlank(bytes, start);
  if (bytes[first] === openingBracket) forEachElement(bytes, first + 1, onRow);
  else forEachLine(bytes, start, onRow);
}

/** Whether the body is one JSON array, and not lines. */
export function isArray(bytes: Buffer): boolean {
  return bytes[skipBlank(bytes, findStart(bytes))] === openingBracket;
}

/** Where the body begins, after a byte order mark. */
export function findStart(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/**
 * Like `forEachRow`, but several objects may share a line, and an object may have several lines. What is no object is a row up
 * to the end of its line.
 */
export function forEachObject(bytes: Buffer, onRow: OnRow): void {
  let from = skipBlank(bytes, 0);
  if (bytes[from] === openingBracket) {
    forEachElement(bytes, from + 1, onRow);
    return;
  }
  for (let row = 1; from < bytes.length; row++) {
    const to = bytes[from] === openingBrace ? findObjectEnd(bytes, from) : findLineEnd(bytes, from);
    onRow(from, to, row);
    from = skipBlank(bytes, to);
  }
}

function findLineEnd(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(newline, from);
  return end < 0 ? bytes.length : end;
}

/** Returns the position after the object; the end of the bytes where it has no end. */
function findObjectEnd(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let i = from; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) i = findStringEnd(bytes, i + 1);
    else if (byte === openingBrace) depth++;
    else if (byte === closingBrace && --depth === 0) return i + 1;
  }
  return bytes.length;
}

/** Calls `onRow` for each line that is not blank, from `start` on. */
export function forEachLine(bytes: Buffer, start: number, onRow: OnRow): void {
  let line = 0;
  for (let from = start; from < bytes.length; ) {
    const to = findLineEnd(bytes, from);
    line++;
    if (skipBlank(bytes, from) < to) onRow(from, to, line);
    from = to + 1;
  }
}

function forEachElement(bytes: Buffer, start: number, onRow: OnRow): void {
  let element = 0;
  let from = skipBlank(bytes, start);
  let isLast = bytes[from] === closingBracket;
  while (!isLast) {
    const to = findElementEnd(bytes, from);
    if (to >= bytes.length) throw new Refusal(400, "the body is a JSON array without an end");
    onRow(from, to, ++element);
    isLast = bytes[to] === closingBracket;
    from = isLast ? to : to + 1;
  }
  checkEnd(bytes, from + 1);
}

/** Returns the position of the comma or bracket after the element; the end of the bytes where there is none. */
function findElementEnd(bytes: Buffer, from: number): number {
  let depth = 0;
  for (let i = from; i < bytes.length; i++) {
    switch (bytes[i]) {
      case quote:
        i = findStringEnd(bytes, i + 1);
        break;
      case openingBracket:
      case openingBrace:
        depth++;
        break;
      case closingBracket:
      case closingBrace:
        if (depth === 0) return i;
        depth--;
        break;
      case comma:
        if (depth === 0) return i;
        break;
    }
  }
  return bytes.length;
}

/** Returns the position of the string's closing quote; the end of the bytes where there is none. */
function findStringEnd(bytes: Buffer, from: number): number {
  for (let i = from; i < bytes.length; i++) {
    if (bytes[i] === backslash) i++;
    else if (bytes[i] === quote) return i;
  }
  return bytes.length;
}

function checkEnd(bytes: Buffer, from: number): void {
  if (skipBlank(bytes, from) < bytes.length)
    throw new Refusal(400, "the body goes on after the end of its JSON array");
}

function skipBlank(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isBlank(bytes[at]!)) at++;
  return at;
}

/** White space as JSON defines it. */
export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
