/**
 * Follows the frames of a zstd stream (RFC 8878, section 3.1) without unpacking them, to tell where each ends and whether
 * the last one is whole: Node 22 unpacks only the first frame, and one that was cut short without any complaint.
 */

const magic = 0xfd2fb528;
const skippableMagicFirst = 0x184d2a50;
const skippableMagicLast = 0x184d2a5f;
const contentSizeBytes = [0, 2, 4, 8] as const;
const dictionaryIdBytes = [0, 1, 2, 4] as const;

type Part = "magic" | "skip size" | "descriptor" | "block header";

export class ZstdFrames {
  #part: Part = "magic";
  /** Bytes that are passed over before the next part begins. */
  #skip = 0;
  /** The bytes of the next part that have come so far. */
  readonly #held: number[] = [];
  #hasChecksum = false;
  #broken = false;

  /** Every frame that began has ended. */
  get complete(): boolean {
    return !this.#broken && this.#atStart;
  }

  /** The places in `bytes` behind which a frame ends. What is no zstd has no ends: unpacking it gives the better error. */
  push(bytes: Uint8Array): number[] {
    const ends: number[] = [];
    let at = 0;
    while (at < bytes.length && !this.#broken) {
      if (this.#skip > 0) {
        const passed = Math.min(this.#skip, bytes.length - at);
        this.#skip -= passed;
        at += passed;
      } else {
        this.#held.push(bytes[at]!);
        at++;
        this.#advance();
      }
      if (this.complete) ends.push(at);
    }
    return ends;
  }

  get #atStart(): boolean {
    return this.#part === "magic" && this.#held.length === 0 && this.#skip === 0;
  }

  #advance(): void {
    switch (this.#part) {
      case "magic":
        if (this.#held.length === 4) this.#readMagic(this.#take());
        break;
      case "skip size":
        if (this.#held.length === 4) this.#expect("magic", this.#take());
        break;
      case "descriptor":
        this.#readDescriptor(this.#take());
        break;
      case "block header":
        if (this.#held.length === 3) this.#readBlock(this.#take());
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

  /** Bit 0: last block; bits 1 and 2: raw, repeated byte, compressed, reserved; the rest: size. */
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

  /** The held bytes as a little-endian number. */
  #take(): number {
    let value = 0;
    for (const [i, byte] of this.#held.entries()) value += byte * 2 ** (8 * i);
    this.#held.length = 0;
    return value;
  }
}
