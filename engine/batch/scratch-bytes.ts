/** A growing buffer for strings that become UTF-8. */
import type { ByteSource } from "../vector/text-table.ts";

/** Up to this many UTF-16 units a loop is faster than a call of Buffer's encoder. */
const shortTextUnits = 48;
const firstBytes = 4_096;

/** Holds the strings of a row as UTF-8, one after the other. */
export class ScratchBytes {
  source: ByteSource;
  readonly #allocate: (byteLength: number) => ByteSource;

  /** `allocate` makes room for so many bytes. */
  constructor(allocate: (byteLength: number) => ByteSource) {
    this.#allocate = allocate;
    this.source = allocate(firstBytes);
  }

  /** Writes text at an offset; returns the offset after it. A lone surrogate becomes U+FFFD. */
  write(text: string, at: number): number {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    if (at + text.length * 3 > this.source.bytes.length) this.#grow(at + text.length * 3);
    const { bytes } = this.source;
    if (text.length > shortTextUnits) return at + bytes.write(text, at, "utf8");
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) return at + bytes.write(text, at, "utf8");
      bytes[at + i] = unit;
    }
    return at + text.length;
  }

  #grow(byteLength: number): void {
    const larger = this.#allocate(Math.max(byteLength, this.source.bytes.length * 2));
    larger.bytes.set(this.source.bytes);
    this.source = larger;
  }
}
