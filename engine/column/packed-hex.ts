/** Texts of lower-case hexadecimal digits as bytes. */
import type { PackedIds } from "../vector/id-table.ts";
import { type TextVector, textCount } from "../vector/text.ts";

/** Most bytes of an id in a hexadecimal column. */
const hexWidthMax = 64;
/** The value of a lower-case hexadecimal digit; 0xff for any other byte. */
const hexDigitValues = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[0-9a-f]/.test(character) ? Number.parseInt(character, 16) : 0xff;
});

/** The bytes of texts of lower-case hexadecimal digits; undefined where some text is none, or of another length. */
export function packHex(values: TextVector): PackedIds | undefined {
  const { offsets, bytes } = values;
  const digits = offsets[1]! - offsets[0]!;
  const width = digits / 2;
  if (digits === 0 || digits % 2 !== 0 || width > hexWidthMax) return undefined;
  if (bytes.byteLength !== digits * textCount(values)) return undefined;
  for (let code = 0; code + 1 < offsets.length; code++) if (offsets[code] !== code * digits) return undefined;
  const packed = new Uint8Array(bytes.byteLength >> 1);
  for (let i = 0, at = 0; i < packed.length; i++, at += 2) {
    const high = hexDigitValues[bytes[at]!]!;
    const low = hexDigitValues[bytes[at + 1]!]!;
    if ((high | low) > 15) return undefined;
    packed[i] = (high << 4) | low;
  }
  return { width, bytes: packed };
}
