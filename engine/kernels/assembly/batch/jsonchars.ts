/** The characters that JSON is made of. */
export const quote: u32 = 0x22;
export const comma: u32 = 0x2c;
export const colon: u32 = 0x3a;
export const backslash: u32 = 0x5c;
export const openingBracket: u32 = 0x5b;
export const closingBracket: u32 = 0x5d;
export const openingBrace: u32 = 0x7b;
export const closingBrace: u32 = 0x7d;
export const newline: u32 = 0x0a;
export const minus: u32 = 0x2d;
export const zero: u32 = 0x30;
export const point: u32 = 0x2e;
