/** The variables of a chunk's messages as columns, as template/variables/variable-columns.ts defines them. */
import { reserveBlock, reserveZeros } from "../batch/blocks.ts";
import { sameBytes } from "../bytes.ts";
import {
  addTokenText,
  addTokenTexts,
  beginTokens,
  finishTokens,
  newTokens,
  variablesPerBlock,
} from "./longtokens.ts";
import {
  addAllNgrams,
  addHexFourgrams,
  addNgrams,
  clearNgrams,
  isMostlyMissing,
  newNgrams,
  ngramBits,
} from "./ngrams.ts";
import { hasKeyedLines, lineValueEnd, nextLineValue } from "./keyedlines.ts";
import { newSink, pushByte, pushWord, sinkAt, sinkLength } from "./sinks.ts";
import {
  beginSlots,
  digitClass,
  encodeValues,
  kindConstant,
  kindDictionary,
  lowerHexClass,
  markClass,
  valueAt,
  valueCount,
  valueEnd,
} from "./slotcodes.ts";
import { firstSlot, gatherSlots, takeSlot } from "./slots.ts";

const slotByte: u32 = 0xff;
const kindAttribute: u32 = 7;
const kindRepeated: u32 = 8;
const randomClass: u32 = 0x80;
const lineValueClass: u32 = 0x40;
const repeatedMin: u32 = 32;
/** A slot's letters are random if more than one in so many of its trigrams occurs in no template. */
const randomShare: u32 = 4;

/** Groups, in the order of their numbers. */
const hexGroup: u32 = 1;
const wordGroup: u32 = 2;
const randomGroup: u32 = 3;
const groupCount: u32 = 4;

/** A group, by offsets: its filters, then streams, then counts. */
const ngramsOffset: usize = 0;
const tokensOffset: usize = 4;
const dataOffset: usize = 8;
const lengthsOffset: usize = 12;
const longLengthsOffset: usize = 16;
const textsOffset: usize = 20;
/** The numbers of the attributes that slots refer to. */
const keysOffset: usize = 24;
/** Sizes of the decoded group: texts, their bytes, and codes of dictionaries. */
const sizesOffset: usize = 28;
const slotsOffset: usize = 40;
/** The numbers of the attributes whose values slots have that are not among the texts. */
const repeatedOffset: usize = 44;
const groupBytes: usize = 48;

let groups: usize = 0;
let templateNgrams: usize = 0;
let messageNgrams: usize = 0;
let slotNgrams: usize = 0;
let kinds: usize = 0;
let classesOfSlots: usize = 0;

/** The attributes that slots may repeat: for each where its offsets, bytes and codes lie, and the number of its values. */
let attributes: usize = 0;
let attributeCount: u32 = 0;

/**
 * Encodes the variables of `rows` messages. The texts of the templates, with the byte 0xff in the place of each variable,
 * lie one after the other at `texts`; `offsets` has where each begins. `codes` has the template of each row,
 * `firstVariables` its first variable, and `starts` and `ends` the positions of all variables in the bytes at `bytes`. The
 * functions below return the results.
 */
export function encodeVariables(
  rows: u32,
  templates: u32,
  offsets: usize,
  texts: usize,
  codes: usize,
  firstVariables: usize,
  starts: usize,
  ends: usize,
  bytes: usize,
  repeatables: usize,
  repeatableCount: u32,
): void {
  attributes = repeatables;
  attributeCount = repeatableCount;
  beginSlots(rows);
  beginTokens();
  templateNgrams = newNgrams(3);
  messageNgrams = newNgrams(4);
  slotNgrams = newNgrams(3);
  kinds = newSink();
  classesOfSlots = newSink();
  groups = reserveZeros(<usize>groupCount * groupBytes);
  for (let group: u32 = 0; group < groupCount; group++) beginGroup(groupAt(group), group);
  for (let template: u32 = 0; template < templates; template++) {
    const from = texts + load<u32>(offsets + ((<usize>template) << 2));
    const to = texts + load<u32>(offsets + ((<usize>template) << 2), 4);
    addNgrams(templateNgrams, from, to);
    addNgrams(messageNgrams, from, to);
  }
  const rowStarts = reserveZeros((<usize>templates + 1) << 2);
  const ordered = orderByTemplate(codes, rows, templates, rowStarts);
  gatherSlots(slotsBefore(templates, offsets, texts), templates, codes, rows, firstVariables, starts, ends, bytes);
  for (let template: u32 = 0; template < templates; template++) {
    const rowsOfTemplate = ordered + ((<usize>load<u32>(rowStarts + ((<usize>template) << 2))) << 2);
    const place = (<usize>template) << 2;
    addSlots(firstSlot(template), texts + load<u32>(offsets + place), texts + load<u32>(offsets + place, 4), rowsOfTemplate);
  }
  if (load<u32>(groupAt(hexGroup), slotsOffset) > 0) addHexFourgrams(messageNgrams);
}

/** The number of slots before each template, and of all. */
function slotsBefore(templates: u32, offsets: usize, texts: usize): usize {
  const before = reserveBlock((<usize>templates + 1) << 2);
  let slots: u32 = 0;
  store<u32>(before, 0);
  for (let place: usize = 0; place < (<usize>templates) << 2; place += 4) {
    const to = texts + load<u32>(offsets + place, 4);
    for (let at = texts + load<u32>(offsets + place); at < to; at++) if (load<u8>(at) == slotByte) slots++;
    store<u32>(before + place, slots, 4);
  }
  return before;
}

/** Encodes the slots of one template, whose text is at [from, to) and whose first slot has the number `first`. */
function addSlots(first: u32, from: usize, to: usize, rows: usize): void {
  let slot = first;
  let value = hasKeyedLines(from, to) ? nextLineValue(from, to) : to;
  for (let at = from; at < to; at++) {
    if (load<u8>(at) != slotByte) continue;
    while (value < at) value = nextLineValue(lineValueEnd(), to);
    const isLineValue = value == at && lineValueEnd() == at + 1;
    addSlot(takeSlot(slot++), isLineValue ? lineValueClass : 0, rows);
  }
}

@inline
function groupAt(group: u32): usize {
  return groups + <usize>group * groupBytes;
}

function beginGroup(group: usize, number: u32): void {
  if (number == wordGroup) store<u32>(group, newNgrams(3), ngramsOffset);
  if (number == randomGroup) store<u32>(group, newNgrams(4), ngramsOffset);
  store<u32>(group, newTokens(variablesPerBlock), tokensOffset);
  store<u32>(group, newSink(), dataOffset);
  store<u32>(group, newSink(), lengthsOffset);
  store<u32>(group, newSink(), longLengthsOffset);
  store<u32>(group, newSink(), textsOffset);
  store<u32>(group, newSink(), keysOffset);
  store<u32>(group, newSink(), repeatedOffset);
}

/** Rows by template, those of a template ascending. Writes where those of each template begin, and where the last ends. */
function orderByTemplate(codes: usize, rows: u32, templates: u32, rowStarts: usize): usize {
  const end = codes + ((<usize>rows) << 2);
  for (let at = codes; at < end; at += 4) {
    const place = rowStarts + ((<usize>load<u32>(at)) << 2);
    store<u32>(place, load<u32>(place, 4) + 1, 4);
  }
  const next = reserveBlock((<usize>templates + 1) << 2);
  store<u32>(next, 0);
  for (let template: u32 = 0; template < templates; template++) {
    const place = (<usize>template) << 2;
    store<u32>(rowStarts + place, load<u32>(rowStarts + place) + load<u32>(rowStarts + place, 4), 4);
    store<u32>(next + place, load<u32>(rowStarts + place));
  }
  const ordered = reserveBlock((<usize>rows) << 2);
  for (let row: u32 = 0; row < rows; row++) {
    const place = next + ((<usize>load<u32>(codes + ((<usize>row) << 2))) << 2);
    const position = load<u32>(place);
    store<u32>(ordered + ((<usize>position) << 2), row);
    store<u32>(place, position + 1);
  }
  return ordered;
}

@inline
function groupOf(classes: u32): u32 {
  if ((classes & ~(digitClass | markClass | lineValueClass)) == 0) return 0;
  if ((classes & ~(digitClass | markClass | lowerHexClass | lineValueClass)) == 0) return hexGroup;
  return (classes & randomClass) == 0 ? wordGroup : randomGroup;
}

/** Writes the values that were taken last, of these classes of characters. `flags` is `lineValueClass` or 0. */
function addSlot(characters: u32, flags: u32, rows: usize): void {
  let classes = characters | flags;
  if (groupOf(classes) == wordGroup) {
    const count = valueCount();
    clearNgrams(slotNgrams);
    for (let i: u32 = 0; i < count; i++) {
      addNgrams(slotNgrams, valueAt(i), valueEnd(i));
      addNgrams(messageNgrams, valueAt(i), valueEnd(i));
    }
    if (isMostlyMissing(slotNgrams, templateNgrams, randomShare)) {
      classes |= randomClass;
      const random: usize = load<u32>(groupAt(randomGroup), ngramsOffset);
      for (let i: u32 = 0; i < count; i++) addNgrams(random, valueAt(i), valueEnd(i));
    } else addAllNgrams(load<u32>(groupAt(wordGroup), ngramsOffset), slotNgrams);
  }
  const kind = addToGroup(groupAt(groupOf(classes)), characters, flags, rows);
  pushByte(kinds, kind);
  pushByte(classesOfSlots, classes);
}

function addToGroup(group: usize, characters: u32, flags: u32, rows: usize): u32 {
  store<u32>(group, load<u32>(group, slotsOffset) + 1, slotsOffset);
  const data: usize = load<u32>(group, dataOffset);
  const repeated = valueCount() < repeatedMin ? -1 : findRepeatedAttribute(rows);
  if (repeated >= 0) {
    const index = indexIn(load<u32>(group, keysOffset), repeated);
    pushByte(data, index & 0xff);
    pushByte(data, index >> 8);
    if (flags != 0) {
      indexIn(load<u32>(group, repeatedOffset), repeated);
      return kindRepeated;
    }
    addAllTexts(group);
    return kindAttribute;
  }
  const lengths: usize = load<u32>(group, lengthsOffset);
  const texts: usize = load<u32>(group, textsOffset);
  const textsBefore = sinkLength(lengths);
  const bytesBefore = sinkLength(texts);
  const kind = encodeValues(characters, data, lengths, load<u32>(group, longLengthsOffset), texts);
  if (kind == kindConstant || kind == kindDictionary) {
    const distinct = sinkLength(lengths) - textsBefore;
    const codes = kind == kindDictionary ? valueCount() : 0;
    addSizes(group, distinct, sinkLength(texts) - bytesBefore, codes);
    const from = sinkAt(texts) + bytesBefore;
    addTokenTexts(load<u32>(group, tokensOffset), distinct, from, sinkAt(texts) + sinkLength(texts));
  } else addAllTexts(group);
  return kind;
}

/** Counts every value as a text of its own, and adds its tokens to the filter. */
function addAllTexts(group: usize): void {
  const count = valueCount();
  const tokens: usize = load<u32>(group, tokensOffset);
  let bytes: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    bytes += <u32>(valueEnd(i) - valueAt(i));
    addTokenText(tokens, valueAt(i), valueEnd(i));
  }
  addSizes(group, count, bytes, 0);
}

@inline
function addSizes(group: usize, texts: u32, bytes: u32, codes: u32): void {
  const sizes = group + sizesOffset;
  store<u32>(sizes, load<u32>(sizes) + texts);
  store<u32>(sizes, load<u32>(sizes, 4) + bytes, 4);
  store<u32>(sizes, load<u32>(sizes, 8) + codes, 8);
}

/** The first attribute that each value equals in its row, or -1. */
function findRepeatedAttribute(rows: usize): i32 {
  for (let attribute: u32 = 0; attribute < attributeCount; attribute++) {
    const at = attributeAt(attribute);
    if (isRepeated(load<u32>(at), load<u32>(at, 4), load<u32>(at, 8), rows)) return attribute;
  }
  return -1;
}

function isRepeated(offsets: usize, bytes: usize, codes: usize, rows: usize): bool {
  const count = valueCount();
  for (let i: u32 = 0; i < count; i++) {
    const code = load<i32>(codes + ((<usize>load<u32>(rows + ((<usize>i) << 2))) << 2));
    if (code < 0) return false;
    const place = offsets + ((<usize>code) << 2);
    const from = load<u32>(place);
    const length = load<u32>(place, 4) - from;
    const value = valueAt(i);
    if (length != <u32>(valueEnd(i) - value) || !sameBytes(bytes + from, value, length)) return false;
  }
  return true;
}

/** The index of an attribute in a stream of numbers, to which it is added where it is new. */
function indexIn(numbers: usize, attribute: u32): u32 {
  const at = sinkAt(numbers);
  const end = sinkLength(numbers);
  for (let place: u32 = 0; place < end; place += 4) if (load<u32>(at + place) == attribute) return place >> 2;
  pushWord(numbers, attribute);
  return end >> 2;
}

/** The number of slots of a group. */
export function groupSlots(group: u32): u32 {
  return load<u32>(groupAt(group), slotsOffset);
}
/** The stream of a group with this number: data, lengths, long lengths, texts, keys. */
export function groupStream(group: u32, stream: u32): usize {
  return load<u32>(groupAt(group) + dataOffset + (stream << 2));
}
/** Three words: texts of the decoded group, their bytes, and codes of dictionaries. */
export function groupSizes(group: u32): usize {
  return groupAt(group) + sizesOffset;
}
/** The stream of the group's token filter, which is made now. In it, values of attributes that slots repeat follow the texts. */
export function makeGroupTokens(group: u32): usize {
  const tokens: usize = load<u32>(groupAt(group), tokensOffset);
  const repeated: usize = load<u32>(groupAt(group), repeatedOffset);
  for (let place: u32 = 0; place < sinkLength(repeated); place += 4)
    addAttribute(tokens, attributeAt(load<u32>(sinkAt(repeated) + place)));
  return finishTokens(tokens);
}

/** Adds the values of an attribute to a token filter. */
function addAttribute(tokens: usize, attribute: usize): void {
  const offsets: usize = load<u32>(attribute);
  const bytes: usize = load<u32>(attribute, 4);
  const values = load<u32>(attribute, 12);
  for (let place = offsets; place < offsets + ((<usize>values) << 2); place += 4)
    addTokenText(tokens, bytes + load<u32>(place), bytes + load<u32>(place, 4));
}

@inline
function attributeAt(number: u32): usize {
  return attributes + ((<usize>number) << 4);
}
/** The bits of the group's filter of n-grams; 0 where it has none. */
export function groupNgrams(group: u32): usize {
  const ngrams: usize = load<u32>(groupAt(group), ngramsOffset);
  return ngrams == 0 ? 0 : ngramBits(ngrams);
}
/** The bits of the filter of all messages. */
export function messageNgramBits(): usize {
  return ngramBits(messageNgrams);
}
/** The streams of the slots' kinds and classes. */
export function slotKinds(): usize {
  return kinds;
}
export function slotClasses(): usize {
  return classesOfSlots;
}
export function streamAt(stream: usize): usize {
  return sinkAt(stream);
}
export function streamLength(stream: usize): u32 {
  return sinkLength(stream);
}
