/** Texts of a resource or scope, which its records share. */

import type { FieldTexts } from "./tested-attributes.ts";

export class SharedTexts implements FieldTexts {
  /** For each field, where its text is in the body buffer; -1 for none. */
  readonly #from: Int32Array;
  readonly #to: Int32Array;

  constructor(fields: number) {
    this.#from = new Int32Array(fields).fill(-1);
    this.#to = new Int32Array(fields);
  }

  clear(): void {
    this.#from.fill(-1);
  }

  setText(field: number, from: number, to: number): void {
    this.#from[field] = from;
    this.#to[field] = to;
  }

  copyTo(texts: FieldTexts): void {
    for (let field = 0; field < this.#from.length; field++) {
      const from = this.#from[field]!;
      if (from >= 0) texts.setText(field, from, this.#to[field]!);
    }
  }
}
