/**
 * Case folding for searches that ignore case. Each code point is lower-cased by itself. It stays as it is where its
 * lower case has more than one code point, or where only one of the two is ASCII. So an ASCII needle matches ASCII
 * letters alone, and a search can compare bytes without decoding the text.
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

/** The lower case of each ASCII byte; every other byte maps to itself. */
export const foldedByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 65 && byte <= 90 ? byte + 32 : byte,
);
