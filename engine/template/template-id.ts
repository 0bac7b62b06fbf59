/** Ids and texts of templates: the same for a message wherever it is stored. */
import { textVector } from "../vector/text.ts";
import { hash64 } from "../vector/xxhash.ts";
import { slotByte, tokenizeMessages } from "./tokenizer.ts";

/** The id of a message's template: xxHash64 of the template's text, 16 hexadecimal digits. */
export function templateIdOf(message: string): string {
  const template = templateOf(message);
  return hash64(template, 0, template.byteLength);
}

/** The template of a message for people, `<*>` in the place of each variable. */
export function templateTextOf(message: string): string {
  const template = Buffer.from(templateOf(message));
  let text = "";
  let start = 0;
  for (let at = template.indexOf(slotByte); at >= 0; at = template.indexOf(slotByte, start)) {
    text += `${template.toString("utf8", start, at)}<*>`;
    start = at + 1;
  }
  return text + template.toString("utf8", start);
}

function templateOf(message: string): Uint8Array {
  return tokenizeMessages(textVector([message])).templates[0]!;
}
