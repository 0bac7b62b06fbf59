/** The keys of rows: what each says of a row, and which rows had it last. */
import { growBlock, reserveBlock, reserveZeros } from "./blocks.ts";
import { addKey, findKey, keyAt, keyCount, keyLength } from "./batchrows.ts";
import { findText, internText, newColumn } from "./texttable.ts";

/**
 * What a key says about the rows that have it, as bits. Known: the key was looked up in the names below. Logger: only rows
 * in the form of a logger have it. Other signal: only rows of another signal have it.
 */
const knownKey: u8 = 1;
export const loggerKey: u8 = 2;
export const otherSignalKey: u8 = 4;
/** The policy has more to say of a row that has such a key. */
export const policyKey: u8 = 8;
/** Above these bits: the field of a document that has this name, or 0; see documents/documentfields.ts. */
export const fieldShift: u32 = 4;

/** Keys that say something of a row, and what each says. */
let names: usize = 0;
let kindsOfNames: usize = 0;
const namesMax: u32 = 4096;

/** For each key, what it says of a row that has it; 0 where that is not known yet. */
let kinds: usize = 0;
/** For each key, the number of the last row that had it in `attributes`, and of the last that had it at the top level. */
let lastInside: usize = 0;
let lastAtTopLevel: usize = 0;
/** Added to the number of a row whose value is null. */
const isNull: u32 = 0x8000_0000;
const firstKeys: u32 = 64;
let keysMax: u32 = 0;
/**
 * For each key, the key that came after it in the last row that had it; the first entry is for the beginning of a row. An
 * entry has the address and the length of the next key's own name, its number, and the number of the key of the object that
 * the next key is in. The address is 0 until a key has come after it.
 */
let guesses: usize = 0;
export const guessLengthOffset: usize = 4;
export const guessKeyOffset: usize = 8;
export const guessParentOffset: usize = 12;
const guessShift: usize = 4;

/** Where the name of a member of an object is put together. */
let nameAt: usize = 0;
const nameBytesMax: u32 = 4096;

/** Called first in each batch. */
export function beginKeys(): void {
  guesses = reserveZeros((<usize>firstKeys + 1) << guessShift);
  nameAt = reserveBlock(nameBytesMax);
  names = newColumn();
  kindsOfNames = reserveZeros(namesMax << 1);
  keysMax = firstKeys;
  kinds = reserveZeros(keysMax << 1);
  lastInside = reserveZeros(keysMax << 2);
  lastAtTopLevel = reserveZeros(keysMax << 2);
}

/** Says what a key of this name says of a row: bits as above. At most 4,096 names. */
export function addName(at: usize, length: u32, kind: u32): void {
  const place = kindsOfNames + (internText(names, at, length) << 1);
  store<u16>(place, load<u16>(place) | <u16>kind);
}

@inline
export function kindOf(key: u32): u32 {
  return load<u16>(kinds + (key << 1));
}

/** Records that a row has a key in `attributes`. Returns false where the row has this key for the second time. */
@inline
export function isFirstInside(key: u32, row: u32): bool {
  const last = lastInside + ((<usize>key) << 2);
  if ((load<u32>(last) & ~isNull) == row) return false;
  store<u32>(last, row);
  return true;
}

/** Notes that the value is null, which is none. */
@inline
export function noteNullInside(key: u32, row: u32): void {
  store<u32>(lastInside + ((<usize>key) << 2), row | isNull);
}

/** Whether the row has a value for a key in `attributes`. */
@inline
export function isInside(key: u32, row: u32): bool {
  return load<u32>(lastInside + ((<usize>key) << 2)) == row;
}

/** The same at the top level of the row. */
@inline
export function isFirstAtTopLevel(key: u32, row: u32): bool {
  const last = lastAtTopLevel + ((<usize>key) << 2);
  if (load<u32>(last) == row) return false;
  store<u32>(last, row);
  return true;
}

/** The number of a key; -1 where the batch has too many keys. */
export function numberKey(at: usize, length: u32, keysOfBatchMax: f64): i32 {
  const known = findKey(at, length);
  if (known >= 0 && <u32>known < keysMax && kindOf(known) != 0) return known;
  if (known < 0 && <f64>keyCount() >= keysOfBatchMax) return -1;
  const key = known < 0 ? addKey(at, length) : <u32>known;
  if (key >= keysMax) growKeys(key);
  const name = findText(names, at, length);
  store<u16>(kinds + (key << 1), name < 0 ? knownKey : load<u16>(kindsOfNames + (name << 1)) | knownKey);
  return key;
}

/** Looks up what a key says that the caller numbered. */
export function learnKey(key: u32): void {
  numberKey(keyAt(key), keyLength(key), f64.MAX_VALUE);
}

/** The number of a member of an object: its name is that of the object's key, a dot, and its own. As `numberKey`. */
export function numberMember(parent: i32, at: usize, length: u32, keysOfBatchMax: f64): i32 {
  const before: u32 = parent < 0 ? 0 : keyLength(parent);
  // An object without a name adds nothing to the names of its members.
  if (before == 0) return numberKey(at, length, keysOfBatchMax);
  if (before + 1 + length > nameBytesMax) return -1;
  memory.copy(nameAt, keyAt(parent), before);
  store<u8>(nameAt + before, 0x2e);
  memory.copy(nameAt + before + 1, at, length);
  return numberKey(nameAt, before + 1 + length, keysOfBatchMax);
}

/** The guess for the key that comes after another: its number plus 1, or 0. */
@inline
export function guessAfter(last: u32): usize {
  return guesses + ((<usize>last) << guessShift);
}

/**
 * Records that `key` followed the entry `last`, so that it is expected there in the next row. `length`: the bytes of its own
 * name, without the names of the objects around it.
 */
export function setGuess(last: u32, length: u32, key: u32, parent: i32): void {
  const guess = guessAfter(last);
  // Its own name is the end of the key's text in the table, which stays. The body's bytes may be overwritten.
  store<u32>(guess, keyAt(key) + keyLength(key) - length);
  store<u32>(guess, length, guessLengthOffset);
  store<u32>(guess, key, guessKeyOffset);
  store<i32>(guess, parent, guessParentOffset);
}

function growKeys(key: u32): void {
  const used = keysMax;
  while (key >= keysMax) keysMax <<= 1;
  kinds = growZeros(kinds, used << 1, keysMax << 1);
  lastInside = growZeros(lastInside, used << 2, keysMax << 2);
  lastAtTopLevel = growZeros(lastAtTopLevel, used << 2, keysMax << 2);
  const guessed = (<usize>used + 1) << guessShift;
  guesses = growZeros(guesses, guessed, (<usize>keysMax + 1) << guessShift);
}

function growZeros(at: usize, used: usize, bytes: usize): usize {
  const larger = growBlock(at, used, bytes);
  memory.fill(larger + used, 0, bytes - used);
  return larger;
}

