/** Random messages of few templates, and filters that search for pieces of them. */
import fc from "fast-check";
import type { Filter, LogRow } from "../../engine/index.ts";

const dayNs = 86_400_000_000_000n;

/**
 * Many rows of few templates, so that every kind of slot occurs: constant, dictionary, digits, integer, hexadecimal and
 * text.
 */
export function makeRows(number: number, seed: number): LogRow[] {
  const word = fc.constantFrom("user", "Error", "conn.reset", "ok", "naïve", "a-b", "GET", "x", "refused by");
  const separator = fc.constantFrom(" ", "=", ": ", "/", " [", "] ", '"', ",", "(", " - ");
  const variable: fc.Arbitrary<fc.Arbitrary<string>> = fc.constantFrom(
    fc.nat({ max: 1_000_000 }).map(String),
    fc.nat({ max: 5 }).map((n) => `v${n}`),
    fc.nat({ max: 59 }).map((n) => `${String(n).padStart(2, "0")}.${String(n * 7).padStart(3, "0")}`),
    fc
      .uint8Array({ minLength: 4, maxLength: 4 })
      .map((bytes) => `0${Buffer.from(bytes).toString("hex").slice(1)}`),
    fc.string({ maxLength: 4 }).map((text) => `${text.replace(/[^A-Za-z]/g, "")}7x`),
    fc.constant("10.0.0.7"),
    fc.constant("Ünï9"),
  );
  const part = fc.oneof(
    word.map((text) => fc.constant(text)),
    variable,
  );
  const template = fc
    .array(fc.tuple(part, separator), { minLength: 1, maxLength: 5 })
    .map((parts) =>
      fc
        .tuple(...parts.map(([text, after]) => text.map((value) => value + after)))
        .map((values) => values.join("")),
    );
  const templates = fc.sample(template, { seed: seed + number, numRuns: 5 });
  const odd = fc.constantFrom("", "12", "\uffff1", "x".repeat(300));
  const message = fc.oneof({ weight: 30, arbitrary: fc.oneof(...templates) }, { weight: 1, arbitrary: odd });
  const startNs = BigInt(number + 1) * dayNs;
  return fc
    .sample(message, { seed: seed + number, numRuns: 600 })
    .map((text, i) => ({ timeNs: startNs + BigInt(i), level: "", message: text, attributes: {} }));
}

/**
 * Regular expressions made of pieces of messages, with wildcards between, before and after them, alternatives and
 * anchors.
 */
function arbitraryPattern(cut: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const literal = cut.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const hole = fc.constantFrom(".*", "[0-9]+", "\\w+", "[^ ]*", ".", "\\b", "(?:x|7)?");
  return fc.oneof(
    fc.constantFrom("[0-9]{3}", "^user", "err|ok", "7x.$", "(?i)GET", "\\d+\\D\\d+"),
    fc.tuple(literal, hole, literal).map((parts) => parts.join("")),
    fc.tuple(literal, literal).map(([a, b]) => `${a}|${b}`),
    fc.tuple(hole, literal, hole).map((parts) => parts.join("")),
    literal.map((text) => `(?i)${text}`),
    literal.map((text) => `^${text}`),
    literal.map((text) => `${text}$`),
  );
}

/** Filters of messages for pieces of them and for other texts. */
export function arbitraryFilter(rows: readonly LogRow[]): fc.Arbitrary<Filter> {
  const cut = fc
    .tuple(
      fc.constantFrom(...rows.map(({ message }) => message)),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.oneof(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 60 })),
    )
    .map(([message, share, length]) => {
      const from = Math.floor(message.length * share);
      return message.slice(from, from + length).toWellFormed();
    });
  const text = fc.oneof(
    { weight: 8, arbitrary: cut },
    { weight: 1, arbitrary: cut.map((found) => `${found}1`) },
    { weight: 1, arbitrary: fc.constantFrom("", "zq", "7", "0") },
  );
  const field = { kind: "message" } as const;
  return fc.oneof(
    {
      weight: 4,
      arbitrary: text.map((found): Filter => ({ kind: "contains", field, text: found, ignoreCase: false })),
    },
    {
      weight: 3,
      arbitrary: text.map(
        (found): Filter => ({ kind: "contains", field, text: found.toUpperCase(), ignoreCase: true }),
      ),
    },
    { weight: 1, arbitrary: text.map((value): Filter => ({ kind: "equals", field, value })) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(arbitraryPattern(cut), fc.boolean())
        .map(([pattern, whole]): Filter => ({ kind: "matches", field, pattern, whole })),
    },
  );
}
