/**
 * Reads rows of samples that name their series as an earlier row did, byte for byte. The bytes that name a series are its
 * alias. The caller reads the first row of an alias, and says which rows may be added without asking it.
 */
import { copyText } from "../bytes.ts";
import { growBlock, reserveBlock, reserveZeros } from "./blocks.ts";
import { findText, internText, newColumn } from "./texttable.ts";

/** Rows that are handed over at a time. */
export const sampleRowsMax: u32 = 16384;

let aliases: usize = 0;
/** For each alias the number of its series in the batch plus 1; 0 where the caller has to add its rows. */
let directNumbers: usize = 0;
let aliasesMax: u32 = 64;

/** The key: a word for the kind of the alias, and its bytes. */
let key: usize = 0;
let keyMax: u32 = 1024;
let keyTo: u32 = 0;
const kindBytes: u32 = 4;

/** Rows: for each the number of its series, its nanoseconds since the start of the day, and its value. */
let seriesAt: usize = 0;
let timesAt: usize = 0;
let valuesAt: usize = 0;
let rows: u32 = 0;

/** Rows of these whole seconds, without the last, may be added; times count from the start of their day. */
let windowFrom: f64 = 0;
let windowTo: f64 = 0;
let dayFrom: f64 = 0;

/** Called first, once in a memory. */
export function beginAliases(): void {
  aliases = newColumn();
  directNumbers = reserveZeros(aliasesMax << 2);
  key = reserveBlock(keyMax);
  seriesAt = reserveBlock(sampleRowsMax << 2);
  timesAt = reserveBlock(sampleRowsMax << 3);
  valuesAt = reserveBlock(sampleRowsMax << 3);
}

export function setWindow(from: f64, to: f64, day: f64): void {
  windowFrom = from;
  windowTo = to;
  dayFrom = day;
}

/** Begins the key of an alias of this kind: aliases of different kinds are different. */
@inline
export function beginKey(kind: u32): void {
  store<u32>(key, kind);
  keyTo = kindBytes;
}

/** The key says nothing. */
@inline
export function dropKey(): void {
  keyTo = 0;
}

@inline
export function hasKey(): bool {
  return keyTo > kindBytes;
}

/** Adds bytes to the key, and a byte after them. */
@inline
export function addToKey(at: usize, length: u32, separator: u32): void {
  const to = keyTo + length + 1;
  if (to + 16 > keyMax) growKey(to + 16);
  copyText(key + keyTo, at, length);
  store<u8>(key + to - 1, separator);
  keyTo = to;
}

/** Adds a number to the key. */
export function addNumberToKey(number: u32): void {
  const to = keyTo + 4;
  if (to + 16 > keyMax) growKey(to + 16);
  store<u32>(key + keyTo, number);
  keyTo = to;
}

function growKey(least: u32): void {
  const used = keyMax;
  while (keyMax < least) keyMax <<= 1;
  key = growBlock(key, used, keyMax);
}

/** The alias that the key is, or -1. */
@inline
export function findAlias(): i32 {
  return findText(aliases, key, keyTo);
}

/** The number of the alias that the key is, given now where it has none; -1 without a key. */
export function noteAlias(): i32 {
  if (!hasKey()) return -1;
  const alias = internText(aliases, key, keyTo);
  if (alias >= aliasesMax) {
    const used = (<usize>aliasesMax) << 2;
    directNumbers = growBlock(directNumbers, used, used << 1);
    memory.fill(directNumbers + used, 0, used);
    aliasesMax <<= 1;
  }
  return alias;
}

/** Says that rows of an alias may be added to the series with a number in the batch, less 1; 0: they may not. */
export function setDirect(alias: u32, number: u32): void {
  store<u32>(directNumbers + ((<usize>alias) << 2), number);
}

@inline
export function directNumber(alias: u32): u32 {
  return load<u32>(directNumbers + ((<usize>alias) << 2));
}

/** Begins to hand over rows. */
@inline
export function clearSampleRows(): void {
  rows = 0;
}

/** Adds a row to the series with this number plus 1. False where its time is outside the window. */
@inline
export function addSampleRow(number: u32, seconds: f64, nanos: f64, value: f64): bool {
  if (seconds < windowFrom || seconds >= windowTo) return false;
  const at: usize = rows++;
  store<u32>(seriesAt + (at << 2), number - 1);
  store<f64>(timesAt + (at << 3), (seconds - dayFrom) * 1e9 + nanos);
  store<f64>(valuesAt + (at << 3), value);
  return true;
}

export function sampleRows(): u32 {
  return rows;
}
export function sampleSeries(): usize {
  return seriesAt;
}
export function sampleTimes(): usize {
  return timesAt;
}
export function sampleValues(): usize {
  return valuesAt;
}
