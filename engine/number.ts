/** Which texts are numbers. Decimal notation only: "0x10", "Infinity" and "" are text. */

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** The number that a text denotes, or undefined. */
export function parseDecimal(text: string): number | undefined {
  return decimal.test(text) ? Number(text) : undefined;
}

/** The number that prints back as exactly this text, so that storing the number loses nothing; else undefined. */
export function roundTripNumber(text: string): number | undefined {
  const first = text.charCodeAt(0);
  // Cheap refusal before Number(): a decimal begins with a digit or a minus.
  if (!((first >= 48 && first <= 57) || first === 45)) return undefined;
  const number = Number(text);
  return String(number) === text && Number.isFinite(number) ? number : undefined;
}
