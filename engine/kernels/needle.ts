/** The needle of a text search, prepared once per query. */
import assert from "node:assert/strict";
import { foldedByte } from "../vector/case-folding.ts";

export interface Needle {
  readonly bytes: Uint8Array;
  /** The needle is in lower case, and A-Z in the text count as a-z. */
  readonly ignoreCase: boolean;
  /** Index of the byte that the search probes first. */
  readonly first: number;
  /** Index of the byte that it probes next; 0, as `first`, in a needle of one byte. */
  readonly second: number;
  /** Index of the third byte that it probes; as `first` in a needle of one or two bytes. */
  readonly third: number;
}

/**
 * Prepares a needle. Throws where a rule of the parameter is broken.
 * @param bytes at least one; with `ignoreCase`, no byte of A-Z
 */
export function makeNeedle(bytes: Uint8Array, ignoreCase: boolean): Needle {
  assert(bytes.byteLength > 0, "needle: an empty needle stands everywhere and needs no search");
  assert(
    !ignoreCase || bytes.every((byte) => byte === foldedByte[byte]),
    "needle: capitals, which no folded text holds",
  );
  const first = findRarestByte(bytes, -1);
  const second = bytes.byteLength === 1 ? 0 : findRarestByte(bytes, first);
  const third = bytes.byteLength < 3 ? first : findRarestByte(bytes, first, second);
  return { bytes, ignoreCase, first, second, third };
}

/**
 * The index of the byte that is rarest in logs, other than `excluded` and `alsoExcluded`. Of equally rare bytes it is the
 * farthest from `excluded`, as neighbouring bytes are correlated.
 */
function findRarestByte(bytes: Uint8Array, excluded: number, alsoExcluded = excluded): number {
  let best = -1;
  for (let i = 0; i < bytes.byteLength; i++) {
    if (i === excluded || i === alsoExcluded) continue;
    if (best < 0) {
      best = i;
      continue;
    }
    const gain = rarityRank[bytes[i]!]! - rarityRank[bytes[best]!]!;
    if (gain > 0 || (gain === 0 && Math.abs(i - excluded) > Math.abs(best - excluded))) best = i;
  }
  return best;
}

/** Printable bytes by their frequency in log messages (counted over three data sets), the commonest first. */
const byFrequency =
  "e at012scido45nr36879:=f-,\"b.ulmhpSIgTkN][vDO()yFC_z#R/xPjZEGwqBA{}LUMWHJ'K$\\QVX`*Y@+;|><?%!&~^";

/** The position of each byte in that order; bytes that do not occur in it count as rarer than all that do. */
const rarityRank = new Uint8Array(256).fill(byFrequency.length);
for (const [place, character] of [...byFrequency].entries()) rarityRank[character.charCodeAt(0)] = place;
