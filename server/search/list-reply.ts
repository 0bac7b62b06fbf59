/** Answers that are mostly one long list. */

import { jsonHeaders, Reply } from "../api/route.ts";

/** Items are written in pieces of about this size, so that a huge answer is never one string. */
const pieceLength = 256 * 1024;

/** `{"count":2,"logs":[…],"cursor":…}`: the items, each JSON text, between members of the object. */
export interface ListParts {
  before: Readonly<Record<string, unknown>>;
  name: string;
  items: Iterable<string>;
  after: Readonly<Record<string, unknown>>;
}

/** The answer as JSON; small ones are one piece. */
export function listReply(parts: ListParts): Reply {
  const pieces = jsonPieces(parts);
  const first = pieces.next();
  const second = pieces.next();
  const body = second.done ? (first.value ?? "") : encoded([first.value ?? "", second.value], pieces);
  return new Reply({ status: 200, headers: jsonHeaders, body });
}

function* jsonPieces({ before, name, items, after }: ListParts): Generator<string, undefined> {
  const head = membersOf(before);
  let piece = `{${head}${head === "" ? "" : ","}${JSON.stringify(name)}:[`;
  let isFirst = true;
  for (const item of items) {
    piece += isFirst ? item : `,${item}`;
    isFirst = false;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  const tail = membersOf(after);
  yield `${piece}]${tail === "" ? "" : ","}${tail}}\n`;
}

function membersOf(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(members).slice(1, -1);
}

function* encoded(before: readonly string[], rest: Iterable<string>): Generator<Uint8Array> {
  for (const piece of before) yield Buffer.from(piece);
  for (const piece of rest) yield Buffer.from(piece);
}
