/** Which rows a batch takes without asking its policy, and the settings that say so. */
import { openingBrace } from "./jsonchars.ts";
import {
  attributesOffset,
  isOfDay,
  keyLength,
  levelFromOffset,
  levelToOffset,
  longestKeyBytes,
  messageFromOffset,
  messageToOffset,
  nanosOffset,
  secondsOffset,
} from "./batchrows.ts";
import { reserveZeros, stagedFromAt, stagedKeysAt, stagedRowAt, stagedToAt } from "./blocks.ts";
import { isAfter, isBefore, setTime, timeNanos, timeSeconds } from "./rowtime.ts";

/** What a batch's rows are read and admitted by: float64 numbers, at these indices. Of instants the second, then the nanoseconds. */
let settings: usize = 0;
const arrival: usize = 0;
/** Not 0: each row is staged, or each whose message begins with a brace. */
const stagesAll: usize = 2;
const stagesBraces: usize = 3;
const earliest: usize = 4;
const latest: usize = 6;
export const keysOfBatchMax: usize = 8;
const attributesMax: usize = 9;
const levelBytesMax: usize = 10;
const keyBytesMax: usize = 11;
const valueBytesMax: usize = 12;
const messageBytesMax: usize = 13;
const rowBytesMax: usize = 14;
const skewedBefore: usize = 15;
const skewedAfter: usize = 17;
/** Rows with more members in `attributes` are left to the caller. */
export const membersMax: usize = 19;
/** The form of the rows, by its number below. */
const form: usize = 20;
/** Longer rows, in bytes, are left to the caller. */
export const lengthMax: usize = 21;
const settingsCount: usize = 22;

/** Logs, spans, and documents of Elasticsearch. */
export const spanForm: u32 = 1;
export const documentForm: u32 = 2;

let skewedBehind: u32 = 0;
let skewedAhead: u32 = 0;
let untimed: u32 = 0;

@inline
export function setting(index: usize): f64 {
  return load<f64>(settings + (index << 3));
}

@inline
export function formOfRows(): u32 {
  return <u32>setting(form);
}

/** Rows that were taken although their time is skewed. */
export function rowsSkewedBehind(): u32 {
  return skewedBehind;
}
export function rowsSkewedAhead(): u32 {
  return skewedAhead;
}

/** Rows without a time of their own. */
export function untimedRows(): u32 {
  return untimed;
}

/** Called first in each batch. Returns where its settings are written. */
export function beginSettings(): usize {
  untimed = 0;
  skewedBehind = 0;
  skewedAhead = 0;
  settings = reserveZeros(settingsCount << 3);
  return settings;
}

/** Gives the row, which has no time of its own, that of its arrival. */
@inline
export function setArrivalTime(): void {
  untimed++;
  setTime(setting(arrival), setting(arrival + 1));
}

/** Writes the time into the staged row. */
@inline
export function stageTime(): void {
  store<f64>(stagedRowAt, timeSeconds(), secondsOffset);
  store<f64>(stagedRowAt, timeNanos(), nanosOffset);
}

/** Whether the staged row is within all bounds and of the present day; counts it where its time is skewed. */
export function isPlainlyAdmitted(base: usize): bool {
  if (setting(stagesAll) != 0 || !isOfDay(timeSeconds())) return false;
  if (isBefore(setting(earliest), setting(earliest + 1)) || isAfter(setting(latest), setting(latest + 1))) return false;
  const attributes = load<u32>(stagedRowAt, attributesOffset);
  const levelBytes = load<u32>(stagedRowAt, levelToOffset) - load<u32>(stagedRowAt, levelFromOffset);
  const messageFrom = load<u32>(stagedRowAt, messageFromOffset);
  const messageBytes = load<u32>(stagedRowAt, messageToOffset) - messageFrom;
  if (<f64>levelBytes > setting(levelBytesMax) || <f64>attributes > setting(attributesMax)) return false;
  if (<f64>messageBytes > setting(messageBytesMax) || <f64>longestKeyBytes() > setting(keyBytesMax)) return false;
  // The message may be JSON.
  if (setting(stagesBraces) != 0 && messageBytes > 0 && load<u8>(base + messageFrom) == openingBrace) return false;
  let bytes: u32 = levelBytes + messageBytes;
  const valueMax = <u32>setting(valueBytesMax);
  for (let at: usize = 0; at < (<usize>attributes) << 2; at += 4) {
    const valueBytes = load<u32>(stagedToAt + at) - load<u32>(stagedFromAt + at);
    if (valueBytes > valueMax) return false;
    bytes += valueBytes + keyLength(load<u32>(stagedKeysAt + at));
  }
  if (<f64>bytes > setting(rowBytesMax)) return false;
  if (isBefore(setting(skewedBefore), setting(skewedBefore + 1))) skewedBehind++;
  else if (isAfter(setting(skewedAfter), setting(skewedAfter + 1))) skewedAhead++;
  return true;
}
