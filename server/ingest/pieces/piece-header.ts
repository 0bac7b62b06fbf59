/** The header `Idempotency-Keys`, which divides a body into pieces: "BYTES KEY, BYTES KEY". */

import * as z from "zod";
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
  const pieces = texts.map((text, i): InputPiece => {
    const [, length, key] = piecePattern.exec(text.trim()) ?? [];
    if (key === undefined)
      throw wrong(`piece ${i + 1} must be "BYTES KEY", got ${describeValue(text.trim())}`);
    if (keys.has(key)) throw wrong(`piece ${i + 1} has the key of another piece`);
    keys.add(key);
    const bytes = body.subarray(at, at + Number(length));
    at += Number(length);
    if (at < body.length && bytes.at(-1) !== newline) throw wrong(`piece ${i + 1} must end with a newline`);
    return { bytes, key };
  });
  if (at !== body.length) throw wrong(`its pieces have ${at} bytes, the body has ${body.length}`);
  return pieces;
}

const newline = 0x0a;

function wrong(problem: string): Refusal {
  return new Refusal(400, `${piecesHeader}: ${problem}`);
}
