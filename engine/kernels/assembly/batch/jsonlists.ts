/**
 * Lists in JSON whose text is what JSON.stringify would print for them: without blanks, with the shortest escapes, with
 * numbers as JavaScript prints them. Such a list is stored as it was sent.
 */
import {
  backslash,
  closingBrace,
  closingBracket,
  colon,
  comma,
  openingBrace,
  openingBracket,
  quote,
} from "./jsonchars.ts";
import { findPlainEnd, readScalar, rowEnd, skipPlain } from "./jsontext.ts";
import { sameBytes } from "../bytes.ts";

const depthMax: u32 = 8;
/** Objects with more members are left to the caller. */
const membersMax: u32 = 16;

/** Returns the address after the list at `at`; 0 where its text might be printed otherwise. */
export function readList(at: usize, depth: u32): usize {
  if (depth == depthMax) return 0;
  let element = at + 1;
  if (load<u8>(element) == closingBracket) return element + 1;
  while (element < rowEnd()) {
    const end = readElement(element, depth);
    if (end == 0 || end >= rowEnd()) return 0;
    if (load<u8>(end) == closingBracket) return end + 1;
    if (load<u8>(end) != comma) return 0;
    element = end + 1;
  }
  return 0;
}

function readElement(at: usize, depth: u32): usize {
  switch (<u32>load<u8>(at)) {
    case openingBracket:
      return readList(at, depth + 1);
    case openingBrace:
      return readObject(at, depth + 1);
    case quote:
      return findPrintedEnd(at + 1);
    default:
      return readScalar(at);
  }
}

/** As `readList`, for an object: its keys are neither repeated nor numbers, which JavaScript puts first. */
function readObject(at: usize, depth: u32): usize {
  if (depth == depthMax) return 0;
  let member = at + 1;
  if (load<u8>(member) == closingBrace) return member + 1;
  for (let members: u32 = 1; member < rowEnd(); members++) {
    if (members > membersMax || load<u8>(member) != quote || load<u8>(member, 1) - 0x30 < 10) return 0;
    const keyEnd = findPlainEnd(member + 1);
    if (keyEnd == 0 || load<u8>(keyEnd, 1) != colon) return 0;
    if (members > 1 && isRepeated(at + 1, member, <u32>(keyEnd + 1 - member))) return 0;
    const end = readElement(keyEnd + 2, depth);
    if (end == 0 || end >= rowEnd()) return 0;
    if (load<u8>(end) == closingBrace) return end + 1;
    if (load<u8>(end) != comma) return 0;
    member = end + 1;
  }
  return 0;
}

/** Whether the quoted key at `key` may stand before it too, anywhere from `from` on: then the caller looks closer. */
function isRepeated(from: usize, key: usize, length: u32): bool {
  for (let at = from; at + length <= key; at++) {
    if (load<u8>(at) == quote && sameBytes(at, key, length)) return true;
  }
  return false;
}

/** The address after the closing quote of a string as JSON.stringify prints it, or 0. */
function findPrintedEnd(from: usize): usize {
  let at = from;
  while (true) {
    at = skipPlain(at);
    if (at >= rowEnd()) return 0;
    const byte = load<u8>(at);
    if (byte == quote) return at + 1;
    if (byte != backslash) return 0;
    switch (load<u8>(at, 1)) {
      case 0x22:
      case 0x5c:
      case 0x62:
      case 0x66:
      case 0x6e:
      case 0x72:
      case 0x74:
        at += 2;
        break;
      default:
        return 0;
    }
  }
}
