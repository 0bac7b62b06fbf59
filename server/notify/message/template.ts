/**
 * Fills variables such as `$alert_name` into what people wrote for a webhook. Each value is escaped for the place where
 * it stands.
 */
import type { Variables, VariableValue } from "./variables.ts";

/** Replaces variables by their escaped values. Unknown names stay as they are. Names within a value stay, too. */
function replaceVariables(
  template: string,
  variables: Variables,
  escapeValue: (value: string, at: number) => string,
): string {
  return template.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string, at: number) => {
    const value = variables.get(name);
    return value === undefined ? whole : escapeValue(textOf(value), at);
  });
}

function textOf(value: VariableValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Throws an Error for people where values would make the URL invalid or change the depth of its path. */
export function fillUrl(template: string, variables: Variables): URL {
  const filled = URL.parse(
    replaceVariables(template, variables, (value) => encodeURIComponent(value.toWellFormed())),
  );
  const plain = URL.parse(replaceVariables(template, variables, () => "x"));
  if (filled === null || plain === null)
    throw new Error("the address of the webhook is no URL once its variables are filled in");
  // A value such as `..` would lead to a parent folder.
  const depth = (url: URL) => url.pathname.split("/").length;
  if (depth(filled) !== depth(plain))
    throw new Error("a variable's value would change the path of the webhook's address");
  return filled;
}

export function fillHeader(template: string, variables: Variables): string {
  const filled = replaceVariables(template, variables, (value) =>
    value.replace(/[\p{Cc}\u2028\u2029]+/gu, " "),
  );
  return encodeHeader(filled);
}

/** The bytes of UTF-8, as browsers and proxies read them: Node writes a character of Latin-1 for each byte. */
export function encodeHeader(value: string): string {
  return Buffer.from(value, "utf8").toString("latin1");
}

/** Escapes values as `contentType` demands. Without a content type, a template that begins like JSON counts as JSON. */
export function fillBody(template: string, contentType: string | undefined, variables: Variables): string {
  const type = contentType?.toLowerCase() ?? (/^\s*[{[]/.test(template) ? "application/json" : "text/plain");
  if (type.includes("json")) return fillJson(template, variables);
  if (type.includes("x-www-form-urlencoded")) {
    return replaceVariables(template, variables, (value) => encodeURIComponent(value.toWellFormed()));
  }
  if (type.includes("xml") || type.includes("html"))
    return replaceVariables(template, variables, escapeMarkup);
  return replaceVariables(template, variables, (value) => value);
}

/** Fills variables into a text for people. `show` makes a value fit to stand in it. */
export function fillText(template: string, variables: Variables, show: (value: string) => string): string {
  return replaceVariables(template, variables, (value) => show(value));
}

/** Fills variables into JSON. Within a string, a value is escaped; elsewhere it becomes a JSON value of its own. */
function fillJson(template: string, variables: Variables): string {
  const inString = findStrings(template);
  return template.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string, at: number) => {
    const value = variables.get(name);
    if (value === undefined) return whole;
    if (!inString[at]) return JSON.stringify(value);
    return JSON.stringify(textOf(value)).slice(1, -1);
  });
}

function findStrings(json: string): Uint8Array {
  const inside = new Uint8Array(json.length);
  let isInside = false;
  for (let i = 0; i < json.length; i++) {
    inside[i] = isInside ? 1 : 0;
    if (json[i] === '"') isInside = !isInside;
    else if (isInside && json[i] === "\\") inside[++i] = 1;
  }
  return inside;
}

export function escapeMarkup(text: string): string {
  const names: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => names[character]!);
}
