/** Vectors of UTF-8 text in Arrow's layout: `offsets` (rows + 1) into `bytes`. */

export interface TextVector {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

/** Text of one row. */
export function textAt(vector: TextVector, row: number): string {
  return decodeText(vector.bytes, vector.offsets[row]!, vector.offsets[row + 1]!);
}

/** Buffer's decoder: unlike TextDecoder it takes views of shared memory, and keeps a leading byte order mark. */
export function decodeText(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
}

/** Text that grows row by row. */
export class TextDraft {
  rows = 0;
  #offsets = new Uint32Array(1024);
  #bytes: Buffer = Buffer.allocUnsafeSlow(64 * 1024);
  #byteLength = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  /** All texts so far, one after the other; the view is gone with the next text. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Where a row begins, or the row before it ends. */
  startOf(row: number): number {
    return this.#offsets[row]!;
  }

  push(text: string): void {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    this.#reserve(text.length * 3);
    this.#byteLength += this.#bytes.write(text, this.#byteLength, "utf8");
    this.#endRow();
  }

  pushBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength);
    this.#bytes.set(bytes, this.#byteLength);
    this.#byteLength += bytes.byteLength;
    this.#endRow();
  }

  /** Appends every row of another vector. */
  append(vector: TextVector): void {
    const rows = vector.offsets.length - 1;
    const from = vector.offsets[0]!;
    const to = vector.offsets[rows]!;
    this.#reserve(to - from);
    this.#bytes.set(vector.bytes.subarray(from, to), this.#byteLength);
    const shift = this.#byteLength - from;
    this.#byteLength += to - from;
    if (this.rows + rows >= this.#offsets.length) {
      this.#offsets = grown(this.#offsets, Math.max(this.#offsets.length * 2, this.rows + rows + 1));
    }
    for (let row = 1; row <= rows; row++) this.#offsets[this.rows + row] = vector.offsets[row]! + shift;
    this.rows += rows;
  }

  finish(): TextVector {
    return {
      offsets: this.#offsets.slice(0, this.rows + 1),
      bytes: new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#byteLength),
    };
  }

  #endRow(): void {
    this.rows++;
    if (this.rows >= this.#offsets.length) this.#offsets = grown(this.#offsets, this.#offsets.length * 2);
    this.#offsets[this.rows] = this.#byteLength;
  }

  #reserve(byteLength: number): void {
    if (this.#byteLength + byteLength <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#byteLength + byteLength));
    this.#bytes.copy(larger, 0, 0, this.#byteLength);
    this.#bytes = larger;
  }
}

export function textVector(values: readonly string[]): TextVector {
  const draft = new TextDraft();
  for (const value of values) draft.push(value);
  return draft.finish();
}

function grown(offsets: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(offsets);
  return larger;
}
