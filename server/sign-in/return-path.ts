/** The path that a browser returns to after a login. */

import { returnPathLengthMax } from "./limits.ts";

const ownOrigin = "http://svc.invalid";

/**
 * The path as a browser reads it; null for what could lead to another host. Browsers take `\` for `/`, leave out tabs
 * and line ends, and read `//` at the beginning as another host's name.
 */
export function checkReturnPath(text: string): string | null {
  if (text.length > returnPathLengthMax || !/^\/(?![/\\])/.test(text)) return null;
  if ([...text].some((character) => character <= " " || character === "\x7f")) return null;
  const url = URL.parse(text, ownOrigin);
  if (url?.origin !== ownOrigin) return null;
  const path = url.pathname + url.search + url.hash;
  return path.startsWith("//") ? null : path;
}
