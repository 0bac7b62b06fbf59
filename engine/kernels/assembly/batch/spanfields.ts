/** The fields of a span that become attributes: the numbers of their keys, which are the first of a batch, and their words. */

export const traceId: u32 = 0;
export const spanId: u32 = 1;
export const parentSpanId: u32 = 2;
export const name: u32 = 3;
export const kind: u32 = 4;
export const statusCode: u32 = 5;
export const statusMessage: u32 = 6;
export const duration: u32 = 7;
/** How many keys there are; an attribute of such a name is left to the caller. */
export const spanKeys: u32 = 8;

/** Words, eight letters each at most; the first letter is the lowest. */
export const internalWord: u64 = 0x6c61_6e72_6574_6e69;
export const serverWord: u64 = 0x7265_7672_6573;
export const clientWord: u64 = 0x746e_6569_6c63;
export const producerWord: u64 = 0x7265_6375_646f_7270;
export const consumerWord: u64 = 0x7265_6d75_736e_6f63;
export const unsetWord: u64 = 0x74_6573_6e75;
export const okWord: u64 = 0x6b6f;
export const errorWord: u64 = 0x72_6f72_7265;
