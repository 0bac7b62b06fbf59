/** Texts from outside as one line of a message: a label's value cannot forge a line, or hide what follows it. */

/** Characters of a label's value that a message shows. */
export const valueLengthMax = 200;
/** Characters of a line about one instance. */
export const lineLengthMax = 1_000;

/** Line breaks become ↵, other control characters and those that reorder or hide text become �. */
export function oneLine(text: string, lengthMax = Number.POSITIVE_INFINITY): string {
  const shown = text
    .toWellFormed()
    .replace(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, "↵")
    .replace(/[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu, "�");
  return shorten(shown, lengthMax);
}

/** Cuts a text that is too long, never within a character, and says by how much. */
export function shorten(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const tail = (more: number) => `… (+${more.toLocaleString("en")} characters)`;
  const kept = text
    .slice(0, Math.max(0, lengthMax - tail(text.length).length))
    .replace(/[\uD800-\uDBFF]$/, "");
  return `${kept}${tail(text.length - kept.length)}`;
}
