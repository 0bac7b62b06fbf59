/** Which texts are numbers. Only decimal notation counts: "0x10", "Infinity" and "" are text. */

const decimalNotation = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** The number that a text denotes, or undefined. */
export function parseDecimal(text: string): number | undefined {
  return decimalNotation.test(text) ? Number(text) : undefined;
}

/**
 * The number that JavaScript prints as exactly this text, so that a column can store the number and lose nothing; else
 * undefined.
 */
export function parseRoundTripNumber(text: string): number | undefined {
  const first = text.charCodeAt(0);
  // Cheaper than Number() for most texts: what JavaScript prints begins with a digit or a minus.
  if (!((first >= 48 && first <= 57) || first === 45)) return undefined;
  const number = Number(text);
  return String(number) === text && Number.isFinite(number) ? number : undefined;
}

/** As `parseRoundTripNumber`, for bytes[from, to). Decimals of up to fifteen digits become no string. */
export function parseRoundTripBytes(bytes: Uint8Array, from: number, to: number): number | undefined {
  return isPrintedDecimal(bytes, from, to)
    ? parseDecimalBytes(bytes, from, to)
    : parseRoundTripNumber(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1"));
}

/** A number below 1 with more zeros than this after the point is printed by JavaScript with an exponent, as in 1e-7. */
const leadingZerosMax = 5;

/**
 * Whether the bytes are a decimal as JavaScript prints it: of at most fifteen digits, without zeros that say nothing. All
 * such decimals are printed as they are, since fifteen digits tell float64 numbers apart.
 */
function isPrintedDecimal(bytes: Uint8Array, from: number, to: number): boolean {
  const start = from < to && bytes[from] === 45 ? from + 1 : from;
  let point = to;
  for (let at = start; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === 46 && point === to) point = at;
    else if (byte < 48 || byte > 57) return false;
  }
  const digits = to - start - (point < to ? 1 : 0);
  if (point === start || digits > exactDigits) return false;
  const isZero = bytes[start] === 48;
  if (isZero && point - start > 1) return false;
  if (point === to) return !isZero || start === from;
  if (point + 1 === to || bytes[to - 1] === 48) return false;
  let at = point + 1;
  while (bytes[at] === 48) at++;
  return !isZero || at - point - 1 <= leadingZerosMax;
}

/** A float64 represents every whole number of up to this many decimal digits exactly. */
const exactDigits = 15;

/**
 * The whole number whose decimal digits are bytes[from, to); undefined where there are more than fifteen, a leading
 * zero, a sign or anything else.
 */
export function parseIntegerBytes(bytes: Uint8Array, from: number, to: number): number | undefined {
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

/** Returns whether a decimal number can begin with this byte. */
export function canBeginDecimal(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 48 && byte <= 57) || byte === 43 || byte === 45 || byte === 46);
}

/** Powers of ten that a float64 holds exactly. */
const exactPowers = Float64Array.from({ length: exactDigits + 1 }, (_, power) => Number(`1e${power}`));

/**
 * The number that bytes[from, to) denote, equal to what `parseDecimal` returns; NaN where they denote none. With up to
 * fifteen digits and no exponent, the number is one division of two exact numbers, which rounds once (Clinger's fast
 * path). Other texts go through `parseDecimal`.
 */
export function parseDecimalBytes(bytes: Uint8Array, from: number, to: number): number {
  const first = bytes[from];
  if (from === to || !canBeginDecimal(first)) return Number.NaN;
  let at = first === 43 || first === 45 ? from + 1 : from;
  let number = 0;
  let digits = 0;
  let fractionDigits = -1;
  for (; at < to; at++) {
    const byte = bytes[at]!;
    if (byte >= 48 && byte <= 57) {
      number = number * 10 + byte - 48;
      digits++;
      if (fractionDigits >= 0) fractionDigits++;
    } else if (byte === 46 && fractionDigits < 0) fractionDigits = 0;
    else break;
  }
  if (at < to || digits === 0 || digits > exactDigits) return parseDecimalText(bytes, from, to);
  if (fractionDigits > 0) number /= exactPowers[fractionDigits]!;
  return first === 45 ? -number : number;
}

function parseDecimalText(bytes: Uint8Array, from: number, to: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
  return parseDecimal(text) ?? Number.NaN;
}
