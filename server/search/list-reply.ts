/** JSON answers that consist mostly of one long list, written in pieces. */

import { jsonHeaders, Reply } from "../api/route.ts";

/** Characters of one piece, about; a huge answer is never one string. */
const pieceLength = 256 * 1024;

/** Of `{"count":2,"logs":[…],"cursor":…}`, `before` is count, `name` logs and `after` cursor. Items are JSON texts. */
export interface ListParts {
  before?: Readonly<Record<string, unknown>>;
  name: string;
  items: Iterable<string>;
  after: Readonly<Record<string, unknown>>;
}

/** Makes the answer. The body of a small one is a single string. */
export function listReply(parts: ListParts): Reply {
  const pieces = formatPieces(parts);
  const first = pieces.next();
  const second = pieces.next();
  const body = second.done ? (first.value ?? "") : encodePieces([first.value ?? "", second.value], pieces);
  return new Reply({ status: 200, headers: jsonHeaders, body });
}

function* formatPieces({ before = {}, name, items, after }: ListParts): Generator<string, undefined> {
  const head = formatMembers(before);
  let piece = `{${head}${head === "" ? "" : ","}${JSON.stringify(name)}:[`;
  let isFirst = true;
  for (const item of items) {
    piece += isFirst ? item : `,${item}`;
    isFirst = false;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  const tail = formatMembers(after);
  yield `${piece}]${tail === "" ? "" : ","}${tail}}\n`;
}

function formatMembers(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(members).slice(1, -1);
}

function* encodePieces(before: readonly string[], rest: Iterable<string>): Generator<Uint8Array> {
  for (const piece of before) yield Buffer.from(piece);
  for (const piece of rest) yield Buffer.from(piece);
}
