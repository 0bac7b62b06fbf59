/**
 * Finds the ends of the frames of a zstd stream (RFC 8878, section 3.1) without decompressing them, and whether the
 * last frame is complete: Node 22 decompresses only the first frame, and reports no error for one that was cut short.
 */

const magic = 0xfd2fb528;
const skippableMagicFirst = 0x184d2a50;
const skippableMagicLast = 0x184d2a5f;
const contentSizeBytes = [0, 2, 4, 8] as const;
const dictionaryIdBytes = [0, 1, 2, 4] as const;

type Part = "magic" | "skip size" | "descriptor" | "block header";

/** A parser of frame and block headers that takes a stream in chunks. */
export class ZstdFrames {
  #part: Part = "magic";
  /** Bytes to skip before the next part. */
  #skip = 0;
  /** Bytes of the current part that have arrived. */
  readonly #partBytes: number[] = [];
  #hasChecksum = false;
  #broken = false;

  /** True where every frame that began has ended. */
  get complete(): boolean {
    return !this.#broken && this.#atStart;
  }

  /**
   * Returns the offsets in `bytes` at which frames end; none for invalid data, whose decompression gives the better
   * error.
   */
  push(bytes: Uint8Array): number[] {
    const ends: number[] = [];
    let at = 0;
    while (at < bytes.length && !this.#broken) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at);
        this.#skip -= skipped;
        at += skipped;
      } else {
        this.#partBytes.push(bytes[at]!);
        at++;
        this.#advance();
      }
      if (this.complete) ends.push(at);
    }
    return ends;
  }

  get #atStart(): boolean {
    return this.#part === "magic" && this.#partBytes.length === 0 && this.#skip === 0;
  }

  #advance(): void {
    switch (this.#part) {
      case "magic":
        if (this.#partBytes.length === 4) this.#readMagic(this.#take());
        break;
      case "skip size":
        if (this.#partBytes.length === 4) this.#expect("magic", this.#take());
        break;
      case "descriptor":
        this.#readDescriptor(this.#take());
        break;
      case "block header":
        if (this.#partBytes.length === 3) this.#readBlock(this.#take());
        break;
    }
  }

  #readMagic(value: number): void {
    if (value === magic) this.#expect("descriptor", 0);
    else if (value >= skippableMagicFirst && value <= skippableMagicLast) this.#expect("skip size", 0);
    else this.#broken = true;
  }

  #readDescriptor(descriptor: number): void {
    const singleSegment = (descriptor & 0x20) !== 0;
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    const sizeFlag = descriptor >> 6;
    const sizeBytes = sizeFlag === 0 && singleSegment ? 1 : contentSizeBytes[sizeFlag]!;
    this.#expect("block header", (singleSegment ? 0 : 1) + dictionaryIdBytes[descriptor & 3]! + sizeBytes);
  }

  /** Bit 0: last block; bits 1 and 2: type (raw, repeated byte, compressed, reserved); the rest: size. */
  #readBlock(header: number): void {
    const type = (header >> 1) & 3;
    if (type === 3) this.#broken = true;
    const size = type === 1 ? 1 : header >> 3;
    const isLast = (header & 1) === 1;
    const tail = isLast && this.#hasChecksum ? 4 : 0;
    this.#expect(isLast ? "magic" : "block header", size + tail);
  }

  #expect(part: Part, skip: number): void {
    this.#part = part;
    this.#skip = skip;
  }

  /** Takes the bytes of the current part as a little-endian number. */
  #take(): number {
    let value = 0;
    for (const [i, byte] of this.#partBytes.entries()) value += byte * 2 ** (8 * i);
    this.#partBytes.length = 0;
    return value;
  }
}
