/** Looks up series by what names them in a wire format, so that a reader of that format parses a series once. */

import type { SeriesMemory } from "./series-memory.ts";

/**
 * The names of series in one body. A reader puts together the bytes and numbers that decide which series a sample belongs
 * to, with its type and its unit: they must differ wherever one of these does. Ranges are half-open.
 */
export class SeriesAliases {
  readonly #memory: SeriesMemory;
  readonly #format: string;
  /** Address of the body. */
  readonly #at: number;

  /** `format` is the wire format, with all that holds for the body as a whole. The body may be changed afterwards. */
  constructor(memory: SeriesMemory, body: Uint8Array, format: string) {
    this.#memory = memory;
    this.#format = format;
    this.#at = memory.placeBody(body);
  }

  /** The number of a kind of names, of which there are few. */
  kindOf(text: string): number {
    return this.#memory.kindOf(`${this.#format} ${text}`);
  }

  /** Begins a name of this kind. */
  begin(kind: number): void {
    this.#memory.kernels.beginKey(kind);
  }

  /** Adds the bytes [from, to) of the body. */
  add(from: number, to: number): void {
    this.#memory.kernels.addToKey(this.#at + from, to - from, 0);
  }

  /** Adds a number of 32 bits. */
  addNumber(number: number): void {
    this.#memory.kernels.addNumberToKey(number);
  }

  /** A number that stands for the bytes [from, to) of the body, in each body of this thread. */
  numberOf(from: number, to: number): number {
    return this.#memory.numberText(this.#at + from, to - from);
  }

  /** The number of the alias; -1 where nobody has noted it. */
  find(): number {
    return this.#memory.kernels.findAlias();
  }
}
