/**
 * Case ignored: each code point is put into lower case by itself, unless its lower case is more than one character or
 * only one of the two is ASCII. So an ASCII needle can only match ASCII letters, and bytes can be compared as they are.
 */

export function foldCase(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

function foldCharacter(character: string): string {
  const lower = character.toLowerCase();
  return isAscii(lower) === isAscii(character) && [...lower].length === 1 ? lower : character;
}

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}

/** Lower-case form of each ASCII byte; other bytes as they are. */
export const foldedByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 65 && byte <= 90 ? byte + 32 : byte,
);
