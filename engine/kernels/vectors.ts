/** The vectors that kernels read and write, in a memory of any kind. */

export type AnyBuffer = ArrayBufferLike;

export type Bits<B extends AnyBuffer> = Uint8Array<B>;
export type CodeVector<B extends AnyBuffer> = Uint8Array<B> | Uint16Array<B> | Uint32Array<B>;

/** Rows of text: row i is bytes[offsets[i], offsets[i + 1]); the first offset need not be 0. */
export interface Text<B extends AnyBuffer> {
  offsets: Uint32Array<B>;
  bytes: Uint8Array<B>;
}
