/** The attributes of a row that is staged: those inside `attributes`, and those that stand beside them. */
import { attributesOffset } from "./batchrows.ts";
import { reserveBlock, stagedAttributesMax, stagedFromAt, stagedKeysAt, stagedRowAt, stagedToAt } from "./blocks.ts";
import { isInside, kindOf, policyKey } from "./jsonkeys.ts";

/** Attributes beside `attributes`: key, from, to. */
const besideMax: u32 = 1024;
let beside: usize = 0;
let besideCount: u32 = 0;

/** Whether the row has an attribute of which the batch's policy has more to say. */
let hasPolicyKey: bool = false;

/** Called first in each batch. */
export function beginAttributes(): void {
  beside = reserveBlock(besideMax * 12);
}

/** Called first for each row. */
@inline
export function clearAttributes(): void {
  hasPolicyKey = false;
  besideCount = 0;
}

@inline
export function hasKeyOfPolicy(): bool {
  return hasPolicyKey;
}

/** False where the row has more attributes than can be staged. */
@inline
export function addAttribute(key: u32, from: u32, to: u32): bool {
  const i = load<u32>(stagedRowAt, attributesOffset);
  if (i == stagedAttributesMax) return false;
  if ((kindOf(key) & policyKey) != 0) hasPolicyKey = true;
  const at = (<usize>i) << 2;
  store<u32>(stagedKeysAt + at, key);
  store<u32>(stagedFromAt + at, from);
  store<u32>(stagedToAt + at, to);
  store<u32>(stagedRowAt, i + 1, attributesOffset);
  return true;
}

/** Notes an attribute beside `attributes`. False where there are too many. */
@inline
export function setBeside(key: u32, from: u32, to: u32): bool {
  if (besideCount == besideMax) return false;
  const entry = beside + besideCount * 12;
  store<u32>(entry, key);
  store<u32>(entry, from, 4);
  store<u32>(entry, to, 8);
  besideCount++;
  return true;
}

/** Adds the attributes that stand beside `attributes`; where the row has a key in both, that inside wins. */
@inline
export function addBeside(rowNumber: u32): bool {
  for (let i: u32 = 0; i < besideCount; i++) {
    const entry = beside + i * 12;
    const key = load<u32>(entry);
    if (isInside(key, rowNumber)) continue;
    if (!addAttribute(key, load<u32>(entry, 4), load<u32>(entry, 8))) return false;
  }
  return true;
}
