/** The attributes of a row in JSON that stand beside its `attributes`. */
import { addAttribute } from "./attributes.ts";
import { reserveBlock } from "./blocks.ts";
import { isInside } from "./keys.ts";

/** Of each the key, and where its value begins and ends. */
const besideMax: u32 = 1024;
let beside: usize = 0;
let besideCount: u32 = 0;

/** Called first in each batch. */
export function beginBeside(): void {
  beside = reserveBlock(besideMax * 12);
}

/** Called first for each row. */
@inline
export function clearBeside(): void {
  besideCount = 0;
}

/** Notes an attribute. False where there are too many. */
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

/** Adds the attributes to the staged row; where it has a key inside `attributes` too, that inside wins. */
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
