/** Pairs of numbers and their places, in the order in which they first came: an open-addressing hash table over growing vectors. */
export class PairTable {
  count = 0;
  /** The arrays are longer. */
  first = new Uint32Array(64);
  second = new Float64Array(64);
  /** Places plus 1, 0 for none; at least twice as long as the vectors, a power of two. */
  #slots = new Int32Array(128);

  get byteLength(): number {
    return this.first.byteLength + this.second.byteLength + this.#slots.byteLength;
  }

  /** Place of the pair, which is made if it is new. */
  place(first: number, second: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(first, second) & mask;
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      if (this.first[taken - 1] === first && this.second[taken - 1] === second) return taken - 1;
      slot = (slot + 1) & mask;
    }
    if (this.count === this.first.length) {
      this.#grow();
      return this.place(first, second);
    }
    this.#slots[slot] = this.count + 1;
    this.first[this.count] = first;
    this.second[this.count] = second;
    return this.count++;
  }

  #grow(): void {
    const first = new Uint32Array(this.count * 2);
    first.set(this.first);
    this.first = first;
    const second = new Float64Array(this.count * 2);
    second.set(this.second);
    this.second = second;
    this.#slots = new Int32Array(this.count * 4);
    const mask = this.#slots.length - 1;
    for (let place = 0; place < this.count; place++) {
      let slot = hashOf(this.first[place]!, this.second[place]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = place + 1;
    }
  }
}

function hashOf(first: number, second: number): number {
  const mixed = Math.imul(first + 1, 0x9e3779b1) ^ Math.imul(second | 0, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}
