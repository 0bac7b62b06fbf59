/** The header `Idempotency-Keys`, which divides a body into pieces: "BYTES KEY, BYTES KEY". */

import * as z from "zod";
import { countNewlines } from "../../text/newlines.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { idempotencyKeyLengthMax } from "../limits.ts";
import { piecesHeader, piecesMax } from "./group-size.ts";
import type { InputPiece } from "./piece-intake.ts";

export const piecesHeaderSchema = z
  .string()
  .describe(
    "The pieces of the body, each with an idempotency key: `BYTES KEY, BYTES KEY`. A piece whose key came before adds nothing",
  )
  .optional();

const piecePattern = new RegExp(`^([1-9]\\d{0,9}) ([\\x21-\\x2b\\x2d-\\x7e]{1,${idempotencyKeyLengthMax}})$`);

/** Throws Refusal 400 where the pieces are not those of the body. */
export function readPieces(header: string, body: Uint8Array): InputPiece[] {
  const texts = header.split(",");
  if (texts.length > piecesMax) throw wrong(`must name at most ${piecesMax} pieces, got ${texts.length}`);
  const keys = new Set<string>();
  let at = 0;
  let firstLine = 1;
  const pieces = texts.map((text, i): InputPiece => {
    const [, length, key] = piecePattern.exec(text.trim()) ?? [];
    if (key === undefined)
      throw wrong(`piece ${i + 1} must be "BYTES KEY", got ${describeValue(text.trim())}`);
    if (keys.has(key)) throw wrong(`piece ${i + 1} has the key of another piece`);
    keys.add(key);
    const bytes = body.subarray(at, at + Number(length));
    at += Number(length);
    if (at < body.length && bytes.at(-1) !== newline) throw wrong(`piece ${i + 1} must end with a newline`);
    const lines = countLines(bytes);
    const piece = { bytes, key, firstLine, lines };
    firstLine += lines;
    return piece;
  });
  if (at !== body.length) throw wrong(`its pieces have ${at} bytes, the body has ${body.length}`);
  return pieces;
}

const newline = 0x0a;

/** Lines of a piece; the last of a body may end without a newline. */
function countLines(bytes: Uint8Array): number {
  const isUnfinished = bytes.length > 0 && bytes.at(-1) !== newline;
  return countNewlines(bytes) + (isUnfinished ? 1 : 0);
}

function wrong(problem: string): Refusal {
  return new Refusal(400, `${piecesHeader}: ${problem}`);
}
