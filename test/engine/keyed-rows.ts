/** Random events: messages with lines `Key: value`, many of whose values are also attributes. */
import fc from "fast-check";
import type { LogRow } from "../../engine/index.ts";

const dayNs = 86_400_000_000_000n;

const words = ["Account", "Name", "ID", "Logon", "Process 7", "conn.reset", "naïve", "S-1-5", "a:b"];
const blank = fc.constantFrom(" ", "\t", "\t\t", "  ", " \t");

/** Values of one line: of every kind of slot, with and without separators. */
const values: fc.Arbitrary<fc.Arbitrary<string>> = fc.constantFrom(
  fc.constant("C:\\Program Files (x86)\\Writer 4\\w.exe"),
  fc.constant("-"),
  fc.nat({ max: 3 }).map((n) => ["Yes", "No", "Kerb", "User32 x"][n]!),
  fc.nat({ max: 1_000_000 }).map(String),
  fc.nat({ max: 90 }).map((n) => `host-${n}.example`),
  fc.nat({ max: 0xffff }).map((n) => `0x${n.toString(16)}`),
  fc.nat().map((n) => `S-1-5-21-${n}-${n % 7}`),
  fc.nat({ max: 99 }).map((n) => `"C:\\x y\\${n}.exe" -k netsvcs: -p`),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => `{${Buffer.from(bytes).toString("hex")}}`),
  fc.string({ maxLength: 9 }).map((text) => text.replace(/[\n\uffff]/g, "").trim() || "é"),
);

interface Line {
  before: string;
  value: fc.Arbitrary<string>;
  behind: string;
  key: string | undefined;
}

const keyedLine: fc.Arbitrary<Line> = fc
  .record({
    indent: fc.constantFrom("", "\t", "  "),
    keys: fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }),
    separator: blank,
    value: values,
    behind: fc.constantFrom("", "", "", " ", "\t", "\r"),
    isAttribute: fc.boolean(),
  })
  .map(({ indent, keys, separator, value, behind, isAttribute }) => ({
    ...{ before: `${indent}${keys.join(" ")}:${separator}`, value, behind },
    key: isAttribute ? keys.join(".") : undefined,
  }));

const otherLine: fc.Arbitrary<Line> = fc
  .constantFrom(
    "An account was logged on.",
    "",
    "Subject:",
    "\tGroups:\t",
    "event 4624 took 17 ms",
    ": no key",
    ": status: not found 1",
    "one two three four five six seven eight nine: ten",
  )
  .map((before) => ({ before, value: fc.constant(""), behind: "", key: undefined }));

const message = fc
  .array(fc.oneof({ weight: 4, arbitrary: keyedLine }, { weight: 1, arbitrary: otherLine }), {
    minLength: 1,
    maxLength: 9,
  })
  .map((lines) =>
    fc.tuple(...lines.map(({ value }) => value)).map((found) => {
      const attributes: Record<string, string> = {};
      for (const [i, { key }] of lines.entries()) if (key !== undefined) attributes[key] = found[i]!;
      const text = lines.map(({ before, behind }, i) => `${before}${found[i]}${behind}`).join("\n");
      return { message: text, attributes };
    }),
  );

/** Many rows of few templates; see `makeRows` of `message-rows.ts`. */
export function makeKeyedRows(number: number, seed: number, count = 600): LogRow[] {
  const templates = fc.sample(message, { seed: seed + number, numRuns: 5 });
  const startNs = BigInt(number + 1) * dayNs;
  return fc
    .sample(fc.oneof(...templates), { seed: seed + number, numRuns: count })
    .map((found, i) => ({ timeNs: startNs + BigInt(i), level: "", ...found }));
}
