/** Iterates over the lines of a bulk body that are not empty. */
export class BulkLines {
  /** Where the line that was read last begins and ends. */
  from = 0;
  to = 0;
  /** Its number, from 1. */
  number = 0;
  readonly #body: Buffer;
  #next = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Where the next line begins. */
  get nextFrom(): number {
    return this.#next;
  }

  /** Goes on with the line at a position, before which there are so many. */
  continueAt(from: number, linesBefore: number): void {
    this.#next = from;
    this.number = linesBefore;
  }

  next(): string | undefined {
    while (this.#next < this.#body.length) {
      const end = this.#body.indexOf(0x0a, this.#next);
      this.from = this.#next;
      this.to = end < 0 ? this.#body.length : end;
      const text = this.#body.toString("utf8", this.from, this.to);
      this.#next = this.to + 1;
      this.number++;
      if (text.trim() !== "") return text;
    }
    return undefined;
  }
}
