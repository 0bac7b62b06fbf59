/**
 * Edits of a protobuf message: which of its bytes are left out or replaced. Everything else is copied unchanged; only
 * the lengths of the messages around an edit are written anew.
 */

/** Where a nested message stands in the body. */
export interface FieldPlace {
  /** Start of its tag. */
  from: number;
  /** Start of its length. */
  lengthFrom: number;
  contentFrom: number;
  to: number;
}

interface Edit {
  from: number;
  to: number;
  /** Written in place of [from, to). */
  bytes: Uint8Array;
}

const nothing = new Uint8Array(0);

export class WireEdits {
  readonly #edits: Edit[] = [];
  /** Bytes that the edits so far add; negative where they leave bytes out. */
  #growth = 0;
  /** For each open message, the index of the edit of its length and the growth before it. */
  readonly #open: { edit: number; growth: number }[] = [];

  get isEmpty(): boolean {
    return this.#edits.length === 0;
  }

  /** Edits come in the order of the body. Those until `end` or `leaveOut` are within this message. */
  begin(): void {
    this.#open.push({ edit: this.#edits.length, growth: this.#growth });
    this.#edits.push({ from: 0, to: 0, bytes: nothing });
  }

  /** Ends the message that was begun last. */
  end({ lengthFrom, contentFrom, to }: FieldPlace): void {
    const { edit, growth } = this.#open.pop()!;
    const inner = this.#growth - growth;
    if (this.#edits.length === edit + 1) {
      this.#edits.pop();
      return;
    }
    const length = makeVarint(to - contentFrom + inner);
    this.#edits[edit] = { from: lengthFrom, to: contentFrom, bytes: length };
    this.#growth += length.length - (contentFrom - lengthFrom);
  }

  /** Ends the message that was begun last by leaving it out. */
  leaveOut({ from, to }: FieldPlace): void {
    const { edit, growth } = this.#open.pop()!;
    this.#edits.length = edit;
    this.#growth = growth;
    this.replace(from, to, nothing);
  }

  /** Leaves out the bytes [from, to) of the body. */
  cut(from: number, to: number): void {
    this.replace(from, to, nothing);
  }

  replace(from: number, to: number, bytes: Uint8Array): void {
    this.#edits.push({ from, to, bytes });
    this.#growth += bytes.length - (to - from);
  }

  apply(body: Uint8Array): Buffer {
    const edited = Buffer.allocUnsafe(body.length + this.#growth);
    let at = 0;
    let copied = 0;
    for (const { from, to, bytes } of this.#edits) {
      edited.set(body.subarray(copied, from), at);
      at += from - copied;
      edited.set(bytes, at);
      at += bytes.length;
      copied = to;
    }
    edited.set(body.subarray(copied), at);
    return edited;
  }
}

/** A number below 2^32 in the shortest form. */
export function makeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
