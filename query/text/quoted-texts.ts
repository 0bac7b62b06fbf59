/** Finds where texts in quotes end, in time that is linear in the text around them, whatever stands there. */

/** Line breaks end a text in `"` or `'` that is not closed before them, unless `isOverLines`. */
export class QuotedTexts {
  readonly text: string;
  readonly #isOverLines: boolean;
  /**
   * By quote character: a position; no text that opens before it has a closing quote. A search for a closing quote that failed
   * has passed escaped quotes only. A search that begins at one of them meets the same escapes, so it fails as well.
   */
  readonly #unclosedUntil = new Map<string, number>();

  constructor(text: string, isOverLines = false) {
    this.text = text;
    this.#isOverLines = isOverLines;
  }

  /** The place after the closing quote of the text that begins at `start`; undefined where there is none. */
  findEnd(start: number, quotes: string): number | undefined {
    const { text } = this;
    const quote = text[start];
    if (quote === undefined || !quotes.includes(quote)) return undefined;
    if (start < (this.#unclosedUntil.get(quote) ?? 0)) return undefined;
    let at = start + 1;
    for (; at < text.length; at++) {
      const character = text[at];
      if (character === quote) return at + 1;
      if (quote === "`") continue;
      if (character === "\\") at++;
      if (!this.#isOverLines && isLineBreak(text[at])) break;
    }
    this.#unclosedUntil.set(quote, at);
    return undefined;
  }
}

function isLineBreak(character: string | undefined): boolean {
  return character === "\n" || character === "\r";
}
