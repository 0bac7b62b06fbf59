/** JSON answers that consist mostly of one long list, written in pieces. */

import { jsonHeaders, Reply } from "../api/route.ts";

/** Approximate characters of one piece. A large answer is written in pieces, and is never one string. */
const pieceLength = 256 * 1024;

/** The parts of an answer such as `{"count":2,"logs":[…],"cursor":…}`. */
export interface ListParts {
  /** Members before the list, such as `count`. */
  before?: Readonly<Record<string, unknown>>;
  /** Name of the list, such as `logs`. */
  name: string;
  /** Elements of the list, as JSON texts. */
  items: Iterable<string>;
  /** Members after the list, such as `cursor`. */
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
