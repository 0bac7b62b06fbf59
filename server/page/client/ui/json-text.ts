/** JSON as it stands in a text: numbers keep their digits, members their order and every repetition. */

/** A value of a JSON text. `text` is what stands there. */
export type JsonNode =
  | { kind: "string" | "number" | "boolean" | "null"; text: string }
  | { kind: "object" | "list"; text: string; members: JsonMember[] };

interface JsonMember {
  /** The name in an object; undefined in a list. */
  name: string | undefined;
  value: JsonNode;
}

type JsonParent = Extract<JsonNode, { members: JsonMember[] }>;

/** Braces, strings, and what else is a value. Commas and colons are passed over: the text was checked before. */
const tokens = /[[\]{}]|"(?:[^"\\]+|\\.)*"|[^\s"[\]{},:]+/g;

/** Reads the object or list that a text is; undefined for any other text. */
export function readJson(text: string): JsonNode | undefined {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return undefined;
  const open: { node: JsonParent; start: number }[] = [];
  let name: string | undefined;
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const parent = open.at(-1);
    if (token === "]" || token === "}") {
      parent!.node.text = text.slice(parent!.start, index + 1);
      if (open.length === 1) return parent!.node;
      open.pop();
    } else if (parent?.node.kind === "object" && name === undefined) {
      name = JSON.parse(token) as string;
    } else {
      const value = nodeOf(token);
      parent?.node.members.push({ name, value });
      name = undefined;
      if ("members" in value) open.push({ node: value, start: index });
    }
  }
  return undefined;
}

function nodeOf(token: string): JsonNode {
  if (token === "{") return { kind: "object", text: token, members: [] };
  if (token === "[") return { kind: "list", text: token, members: [] };
  if (token.startsWith('"')) return { kind: "string", text: token };
  if (token === "null") return { kind: "null", text: token };
  return { kind: token === "true" || token === "false" ? "boolean" : "number", text: token };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
