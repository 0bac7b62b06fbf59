/** Counts newlines and lines in bytes. */

const newline = 0x0a;

/** Lines of a text; the last one may end without a newline. */
export function countLines(text: Uint8Array): number {
  const isUnfinished = text.length > 0 && text.at(-1) !== newline;
  return countNewlines(text) + (isUnfinished ? 1 : 0);
}

export function countNewlines({ buffer, byteOffset, byteLength }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}
