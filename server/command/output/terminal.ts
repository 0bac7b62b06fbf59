/** What goes to a terminal: colours, and no control characters that came from a log. */

import type { WriteStream } from "node:tty";

const controlSequence = "\u001b[";

export type Colour = "red" | "yellow" | "green" | "blue" | "magenta" | "grey";
const codes: Record<Colour, number> = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, grey: 90 };

/** https://no-color.org */
export function wantsColour(
  stream: WriteStream | NodeJS.WriteStream,
  environment: NodeJS.ProcessEnv,
): boolean {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== "") return false;
  return stream.isTTY === true && environment.TERM !== "dumb";
}

export function coloured(text: string, colour: Colour | null): string {
  return colour === null ? text : `${controlSequence}${codes[colour]}m${text}${controlSequence}0m`;
}

export function levelColour(level: string): Colour | null {
  const lower = level.toLowerCase();
  if (/^(?:fatal|crit|alert|emerg|panic)/.test(lower)) return "magenta";
  if (/^err/.test(lower)) return "red";
  if (/^warn/.test(lower)) return "yellow";
  if (/^(?:info|notice)/.test(lower)) return "green";
  if (/^(?:debug|trace|verbose)/.test(lower)) return "grey";
  return null;
}

/**
 * Control characters, which would drive the terminal, and marks that turn the direction of writing, which would show a
 * line as something else than it is. Tab and newline do no harm.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The text with every such character written out, as `\x1b` or `\u202e`. */
export function safe(text: string): string {
  return text.replace(unsafe, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** The same for what must not leave its line. */
export function safeLine(text: string): string {
  return safe(text).replaceAll("\n", "\\x0a");
}

/** The same inside JSON text, which stays JSON: what JSON leaves as it is becomes an escape of its own. */
export function safeJson(json: string): string {
  return json.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
