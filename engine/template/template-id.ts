/** Ids and texts of templates. They depend on the message alone, not on where it is stored. */
import { toTextVector } from "../vector/text.ts";
import { hash64 } from "../vector/xxhash.ts";
import { slotByte, tokenizeMessages } from "./tokenizer.ts";

/**
 * The id of a message's template: the xxHash64 (seed 0) of the template's text, as 16 lower-case hexadecimal digits.
 */
export function templateIdOf(message: string): string {
  const template = tokenizeMessage(message);
  return hash64(template, 0, template.byteLength);
}

/** The template of a message for people to read: its text with `<*>` in the place of each variable. */
export function templateTextOf(message: string): string {
  const template = Buffer.from(tokenizeMessage(message));
  let text = "";
  let start = 0;
  for (let at = template.indexOf(slotByte); at >= 0; at = template.indexOf(slotByte, start)) {
    text += `${template.toString("utf8", start, at)}<*>`;
    start = at + 1;
  }
  return text + template.toString("utf8", start);
}

/** The template's text, with the slot byte for each variable. */
function tokenizeMessage(message: string): Uint8Array {
  return tokenizeMessages(toTextVector([message])).templates[0]!;
}
