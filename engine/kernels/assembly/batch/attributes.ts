/** The attributes of a row that is staged. */
import { attributesOffset } from "./batchrows.ts";
import { stagedAttributesMax, stagedFromAt, stagedKeysAt, stagedRowAt, stagedToAt } from "./blocks.ts";
import { kindOf, policyKey } from "./keys.ts";

/** Whether the row has an attribute with a key that the batch's admission policy treats in its own way. */
let hasPolicyKey: bool = false;

/** Called first for each row. */
@inline
export function clearAttributes(): void {
  hasPolicyKey = false;
}

@inline
export function hasKeyOfPolicy(): bool {
  return hasPolicyKey;
}

/** Removes the attribute at an index; those after it move up. */
export function removeAttribute(index: u32): void {
  const last = load<u32>(stagedRowAt, attributesOffset) - 1;
  const at = (<usize>index) << 2;
  const bytes = (<usize>(last - index)) << 2;
  memory.copy(stagedKeysAt + at, stagedKeysAt + at + 4, bytes);
  memory.copy(stagedFromAt + at, stagedFromAt + at + 4, bytes);
  memory.copy(stagedToAt + at, stagedToAt + at + 4, bytes);
  store<u32>(stagedRowAt, last, attributesOffset);
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
