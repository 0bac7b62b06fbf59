/** What a text search looks for, prepared once a query. */
import assert from "node:assert/strict";
import { foldedByte } from "../vector/case-folding.ts";

export interface Needle {
  readonly bytes: Uint8Array;
  /** The bytes are in lower case, and A-Z in the text count as a-z. */
  readonly ignoreCase: boolean;
  /** Places of the two bytes that are looked for first; the same for a needle of one byte. */
  readonly first: number;
  readonly second: number;
}

/** @param bytes at least one; with `ignoreCase` in ASCII lower case already */
export function needleOf(bytes: Uint8Array, ignoreCase: boolean): Needle {
  assert(bytes.byteLength > 0, "needle: an empty needle stands everywhere and needs no search");
  assert(
    !ignoreCase || bytes.every((byte) => byte === foldedByte[byte]),
    "needle: capitals, which no folded text holds",
  );
  const first = rarest(bytes, -1);
  return { bytes, ignoreCase, first, second: bytes.byteLength === 1 ? 0 : rarest(bytes, first) };
}

/** The place, other than `taken`, of the rarest byte; of equally rare ones the farthest from it, as neighbours go together. */
function rarest(bytes: Uint8Array, taken: number): number {
  let best = -1;
  for (let i = 0; i < bytes.byteLength; i++) {
    if (i === taken) continue;
    if (best < 0) {
      best = i;
      continue;
    }
    const gain = rarity[bytes[i]!]! - rarity[bytes[best]!]!;
    if (gain > 0 || (gain === 0 && Math.abs(i - taken) > Math.abs(best - taken))) best = i;
  }
  return best;
}

/** Printable bytes by how common they are in log messages (counted over three sets of them), the commonest first. */
const byFrequency =
  "e at012scido45nr36879:=f-,\"b.ulmhpSIgTkN][vDO()yFC_z#R/xPjZEGwqBA{}LUMWHJ'K$\\QVX`*Y@+;|><?%!&~^";

/** Place in that order; bytes that do not stand in it are rarer than all that do. */
const rarity = new Uint8Array(256).fill(byFrequency.length);
for (const [place, character] of [...byFrequency].entries()) rarity[character.charCodeAt(0)] = place;
