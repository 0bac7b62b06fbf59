/** JSON as it stands in a text, against `JSON.parse`. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonNode, readJson } from "../../../server/page/client/ui/json-text.ts";

/** The value that a node stands for. */
function parsed(node: JsonNode): unknown {
  if (!("members" in node)) return JSON.parse(node.text);
  if (node.kind === "list") return node.members.map(({ value }) => parsed(value));
  return Object.fromEntries(node.members.map(({ name, value }) => [name, parsed(value)]));
}

test("each part of a text is the value that stands there", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(3), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      const node = readJson(text);
      if (!/^[[{]/.test(text)) {
        expect(node).toBeUndefined();
        return;
      }
      expect(parsed(node!)).toEqual(JSON.parse(text));
      expect(node!.text).toBe(text);
    }),
  );
});

test("numbers keep their digits, members their order and repetitions", () => {
  const node = readJson(' {"id":9007199254740993,"2":1.10,"1":-1E400,"id":[1e2,{"a":"\\u00e9}"}]} ')!;
  if (!("members" in node)) throw new Error("it is an object");
  expect(node.members.map(({ name, value }) => [name, value.kind, value.text])).toEqual([
    ["id", "number", "9007199254740993"],
    ["2", "number", "1.10"],
    ["1", "number", "-1E400"],
    ["id", "list", '[1e2,{"a":"\\u00e9}"}]'],
  ]);
});

test.each(["", "12", '"text"', "{", '{"a":1} and more', "[1,]", "{'a':1}"])(
  "%s is no object or list",
  (text) => {
    expect(readJson(text)).toBeUndefined();
  },
);

test("a long string and many levels are read", () => {
  const long = `["${"\\\\x".repeat(1_000_000)}"]`;
  expect(readJson(long)!.text).toBe(long);
  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
  expect(readJson(deep)!.text).toBe(deep);
});
