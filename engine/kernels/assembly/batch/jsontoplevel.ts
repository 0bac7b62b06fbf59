/** The attributes at the top level of a row in JSON, and not in its `attributes`. */
import { addAttribute } from "./attributes.ts";
import { reserveBlock } from "./blocks.ts";
import { isInside } from "./keys.ts";

/** Of each the key, and where its value begins and ends. */
const topLevelMax: u32 = 1024;
let topLevel: usize = 0;
let topLevelCount: u32 = 0;

/** Called first in each batch. */
export function beginTopLevel(): void {
  topLevel = reserveBlock(topLevelMax * 12);
}

/** Called first for each row. */
@inline
export function clearTopLevel(): void {
  topLevelCount = 0;
}

/** Notes an attribute. False where there are too many. */
@inline
export function noteTopLevel(key: u32, from: u32, to: u32): bool {
  if (topLevelCount == topLevelMax) return false;
  const entry = topLevel + topLevelCount * 12;
  store<u32>(entry, key);
  store<u32>(entry, from, 4);
  store<u32>(entry, to, 8);
  topLevelCount++;
  return true;
}

/** Adds the attributes to the staged row; where it has a key inside `attributes` too, that inside wins. */
@inline
export function addTopLevel(rowNumber: u32): bool {
  for (let i: u32 = 0; i < topLevelCount; i++) {
    const entry = topLevel + i * 12;
    const key = load<u32>(entry);
    if (isInside(key, rowNumber)) continue;
    if (!addAttribute(key, load<u32>(entry, 4), load<u32>(entry, 8))) return false;
  }
  return true;
}
