/** Colours, and escapes for control characters that stored rows may hold, for output on a terminal. */

import type { WriteStream } from "node:tty";
import { utc, type Zone } from "../flags/zone.ts";

const controlSequence = "\u001b[";

export type Colour = "red" | "yellow" | "green" | "blue" | "magenta" | "grey";
const codes: Record<Colour, number> = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, grey: 90 };

/** Follows https://no-color.org. */
function wantsColour(stream: WriteStream | NodeJS.WriteStream, environment: NodeJS.ProcessEnv): boolean {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== "") return false;
  return stream.isTTY === true && environment.TERM !== "dumb";
}

/** How lines are printed. */
export interface LineStyle {
  inColour: boolean;
  zone: Zone;
}

/** The style of lines on standard output. */
export function outputStyle({ zone, utc: isUtc }: { zone: Zone; utc: boolean }): LineStyle {
  return { inColour: wantsColour(process.stdout, process.env), zone: isUtc ? utc : zone };
}

export function addColour(text: string, colour: Colour | null): string {
  return colour === null ? text : `${controlSequence}${codes[colour]}m${text}${controlSequence}0m`;
}

export function colourOfLevel(level: string): Colour | null {
  const lower = level.toLowerCase();
  if (/^(?:fatal|critical|emerg|panic)/.test(lower)) return "magenta";
  if (/^(?:err|crit|alert|severe)/.test(lower)) return "red";
  if (/^warn/.test(lower)) return "yellow";
  if (/^(?:info|notice)/.test(lower)) return "green";
  if (/^(?:debug|trace|verbose)/.test(lower)) return "grey";
  return null;
}

/**
 * Control characters, which would control the terminal, and marks of writing direction, which would show a line as
 * something else than it is. Tab and newline are harmless.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is there to find control characters
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Escapes every unsafe character, as `\x1b` or `\u202e`. */
export function escapeText(text: string): string {
  return text.replace(unsafe, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** Escapes newlines too, for a text that must stay on one line. */
export function escapeLine(text: string): string {
  return escapeText(text).replaceAll("\n", "\\x0a");
}

/** Escapes unsafe characters in JSON text by JSON's own escapes, so that it parses to the same value. */
export function escapeJson(json: string): string {
  return json.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
