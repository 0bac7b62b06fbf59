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

const exactDigits = 15;

/** The whole number that bytes [from, to) print, where it has at most fifteen digits and no sign; else undefined. */
export function integerIn(bytes: Uint8Array, from: number, to: number): number | undefined {
  const first = bytes[from];
  if (to === from || to - from > exactDigits || (first === 48 && to - from > 1)) return undefined;
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}

/** Whether a text that begins with this byte can be a decimal number. */
export function mayBeginDecimal(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 48 && byte <= 57) || byte === 43 || byte === 45 || byte === 46);
}

/** Powers of ten that doubles hold exactly. */
const exactPowers = Float64Array.from({ length: exactDigits + 1 }, (_, power) => Number(`1e${power}`));

/**
 * The number that bytes [from, to) denote, as `parseDecimal` has it; NaN where they denote none. Up to fifteen digits are
 * one division of exact numbers, which rounds once (Clinger's fast path); what is left is read as text.
 */
export function decimalIn(bytes: Uint8Array, from: number, to: number): number {
  const first = bytes[from];
  if (from === to || !mayBeginDecimal(first)) return Number.NaN;
  let at = first === 43 || first === 45 ? from + 1 : from;
  let number = 0;
  let digits = 0;
  let behindPoint = -1;
  for (; at < to; at++) {
    const byte = bytes[at]!;
    if (byte >= 48 && byte <= 57) {
      number = number * 10 + byte - 48;
      digits++;
      if (behindPoint >= 0) behindPoint++;
    } else if (byte === 46 && behindPoint < 0) behindPoint = 0;
    else break;
  }
  if (at < to || digits === 0 || digits > exactDigits) return slowDecimal(bytes, from, to);
  if (behindPoint > 0) number /= exactPowers[behindPoint]!;
  return first === 45 ? -number : number;
}

function slowDecimal(bytes: Uint8Array, from: number, to: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
  return parseDecimal(text) ?? Number.NaN;
}
