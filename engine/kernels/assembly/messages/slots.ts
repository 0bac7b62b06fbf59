/**
 * The values of all slots, slot by slot. Messages are read in their order, as they lie in memory, and their variables are
 * put where they belong: read slot by slot, each value would be a miss of the caches.
 */
import { reserveBlock, reserveZeros } from "../batch/blocks.ts";
import { digitClass, lowerClass, lowerHexClass, markClass, otherClass, takeValues, upperClass } from "./slotcodes.ts";

/** A slot, by offsets: its values, where each of them begins, how many there are, their bytes; all are addresses or numbers. */
const valuesOffset: usize = 0;
const offsetsOffset: usize = 4;
const countOffset: usize = 8;
const lengthOffset: usize = 12;
/** Bits of all characters, a vector; and where there were characters of none of these bits. */
const bitsOffset: usize = 16;
const othersOffset: usize = 32;
const slotBytes: usize = 48;
/** Values are copied 16 bytes at a time. */
const overwriteBytes: u32 = 16;

let slots: usize = 0;
/** The slots of all templates before each. */
let slotsBefore: usize = 0;
/** 16 bytes of ones, then 16 of zeros. */
let masks: usize = 0;

/** The number of a template's first slot, and of the first after its last. */
export function firstSlot(template: u32): u32 {
  return load<u32>(slotsBefore + ((<usize>template) << 2));
}

@inline
function slotAt(slot: u32): usize {
  return slots + <usize>slot * slotBytes;
}

/**
 * Gathers the values of all slots. `before` has the number of slots before each template, and one entry more; `codes`
 * the template of each of `rows` rows; `firstVariables` each row's first variable, and one entry more; `from` and `to`
 * the places of all variables, from `bytes`.
 */
export function gatherSlots(
  before: usize,
  templates: u32,
  codes: usize,
  rows: u32,
  firstVariables: usize,
  from: usize,
  to: usize,
  bytes: usize,
): void {
  slotsBefore = before;
  masks = reserveBlock(32);
  memory.fill(masks, 0xff, 16);
  memory.fill(masks + 16, 0, 16);
  const count = firstSlot(templates);
  slots = reserveZeros(<usize>count * slotBytes);
  measureSlots(codes, rows, firstVariables, from, to);
  placeSlots(count);
  let variable: usize = 0;
  for (let row: usize = 0; row < (<usize>rows) << 2; row += 4) {
    const end = (<usize>load<u32>(firstVariables + row, 4)) << 2;
    let slot = slotAt(firstSlot(load<u32>(codes + row)));
    for (; variable < end; variable += 4, slot += slotBytes) {
      const start = load<u32>(from + variable);
      addValue(slot, bytes + start, load<u32>(to + variable) - start);
    }
  }
}

/** Counts the values of each slot and their bytes. */
function measureSlots(codes: usize, rows: u32, firstVariables: usize, from: usize, to: usize): void {
  let variable: usize = 0;
  for (let row: usize = 0; row < (<usize>rows) << 2; row += 4) {
    const end = (<usize>load<u32>(firstVariables + row, 4)) << 2;
    let slot = slotAt(firstSlot(load<u32>(codes + row)));
    for (; variable < end; variable += 4, slot += slotBytes) {
      store<u32>(slot, load<u32>(slot, countOffset) + 1, countOffset);
      const length = load<u32>(to + variable) - load<u32>(from + variable);
      store<u32>(slot, load<u32>(slot, lengthOffset) + length, lengthOffset);
    }
  }
}

/** Gives each slot room for its values, and begins again to count. */
function placeSlots(count: u32): void {
  let values: u64 = 0;
  let offsets: u64 = 0;
  for (let slot: u32 = 0; slot < count; slot++) {
    values += load<u32>(slotAt(slot), lengthOffset) + overwriteBytes;
    offsets += load<u32>(slotAt(slot), countOffset) + 1;
  }
  if ((values | (offsets << 2)) >> 32 != 0) unreachable();
  let valuesAt = reserveBlock(<usize>values);
  let offsetsAt = reserveBlock((<usize>offsets) << 2);
  for (let slot: u32 = 0; slot < count; slot++) {
    const at = slotAt(slot);
    store<u32>(at, valuesAt, valuesOffset);
    store<u32>(at, offsetsAt, offsetsOffset);
    store<u32>(offsetsAt, 0);
    valuesAt += load<u32>(at, lengthOffset) + overwriteBytes;
    offsetsAt += (<usize>(load<u32>(at, countOffset) + 1)) << 2;
    store<u32>(at, 0, countOffset);
    store<u32>(at, 0, lengthOffset);
  }
}

@inline
function addValue(slot: usize, at: usize, length: u32): void {
  const before = load<u32>(slot, lengthOffset);
  const target = <usize>load<u32>(slot, valuesOffset) + before;
  let left = length;
  let bits = v128.load(slot, bitsOffset);
  let others = v128.load(slot, othersOffset);
  for (let i: usize = 0; ; i += 16) {
    const characters = v128.load(at + i);
    v128.store(target + i, characters);
    const valid = v128.load(masks + 16 - min<u32>(left, 16));
    const found = v128.and(bitsOf(characters), valid);
    bits = v128.or(bits, found);
    others = v128.or(others, v128.and(i8x16.eq(found, i8x16.splat(0)), valid));
    if (left <= 16) break;
    left -= 16;
  }
  v128.store(slot, bits, bitsOffset);
  v128.store(slot, others, othersOffset);
  const count = load<u32>(slot, countOffset) + 1;
  store<u32>(slot, count, countOffset);
  store<u32>(slot, before + length, lengthOffset);
  store<u32>(<usize>load<u32>(slot, offsetsOffset) + ((<usize>count) << 2), before + length);
}

/**
 * A bit for each set of characters that are all pairs of some high and some low halves of a byte: digits (1), a to f
 * (2), g to o (4), p to z (8), A to O (16), P to Z (32), "-" and "." (64), "_" (128). No bit for any other character.
 */
@inline
function bitsOf(characters: v128): v128 {
  const low = v128.and(characters, i8x16.splat(0x0f));
  const high = i8x16.shr_u(characters, 4);
  const ofLow = i8x16(0x29, 0x3b, 0x3b, 0x3b, 0x3b, 0x3b, 0x3b, 0x3d, 0x3d, 0x3d, 0x3c, 0x14, 0x14, 0x54, 0x54, <i8>0x94);
  const ofHigh = i8x16(0x00, 0x00, 0x40, 0x01, 0x10, <i8>0xa0, 0x06, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00);
  return v128.and(i8x16.swizzle(ofLow, low), i8x16.swizzle(ofHigh, high));
}

/** Takes the values of a slot. Returns the classes of their characters. */
export function takeSlot(slot: u32): u32 {
  const at = slotAt(slot);
  takeValues(load<u32>(at, valuesOffset), load<u32>(at, offsetsOffset), load<u32>(at, countOffset));
  const bits = load<u64>(at, bitsOffset) | load<u64>(at, bitsOffset + 8);
  let found: u32 = 0;
  for (let rest = bits; rest != 0; rest >>= 8) found |= <u32>rest & 0xff;
  let classes: u32 = v128.any_true(v128.load(at, othersOffset)) ? otherClass : 0;
  if ((found & 1) != 0) classes |= digitClass;
  if ((found & 2) != 0) classes |= lowerHexClass;
  if ((found & (4 | 8)) != 0) classes |= lowerClass;
  if ((found & (16 | 32)) != 0) classes |= upperClass;
  return (found & (64 | 128)) == 0 ? classes : classes | markClass;
}
