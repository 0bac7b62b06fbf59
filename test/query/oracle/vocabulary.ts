/** The names and texts that questions are drawn from: those of the generated rows, or those of rows from a file. */
import type { LogRow } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { quantities, services, statuses } from "./dataset.ts";
import type { TermWords } from "./search-terms.ts";

export interface Vocabulary {
  /** Labels of logs with texts that they may have. */
  logLabels: readonly (readonly [label: string, values: readonly string[]])[];
  spanLabels: readonly (readonly [label: string, values: readonly string[]])[];
  /** Texts that messages may contain. */
  texts: readonly string[];
  terms: TermWords;
}

const words = [
  ...[
    "error",
    "CONNECTION",
    "refused",
    "timeout",
    "überlast",
    "straße",
    "/cart",
    "10.0.0.7",
    "GET",
    "in",
    "status",
  ],
  ...["http://a", "a==b", "x=>y", "foo=", "(x)", "漢字", "i̇stanbul"],
];

export const generatedVocabulary: Vocabulary = {
  logLabels: [
    ["service.name", [...services, ""]],
    ["status", statuses],
    ["took", quantities],
    ["log_level", ["info", "WARN", "warn", "error", "err", "crit", "30", "", "debug", "unknown", "Fatal"]],
    ["k8s.namespace.name", ["shop", "infra", ""]],
    ["retry", ["", "1"]],
    ["attributes.message", ["an attribute", ""]],
    ["attributes.log_level", ["WARN", "warn", "trace"]],
    ["message", ["started job", "", "ok"]],
    ["missing", ["", "x"]],
    ["duration_ms", ["12", "1900.5", ""]],
  ],
  spanLabels: [
    ["service.name", [...services, ""]],
    ["name", ["GET /cart", "", "charge card"]],
    ["kind", ["server", "client"]],
    ["status_code", ["ok", "error", "unset"]],
    ["status_message", ["timeout", ""]],
    ["parent_span_id", [""]],
    ["attributes.name", ["own name", ""]],
    ["http.status", statuses],
    ["duration_ms", ["12.5", "200"]],
  ],
  texts: [
    ...[
      "error",
      "Connection",
      "refused",
      "GET",
      "POST",
      "/cart",
      "/pay",
      "200",
      "in ",
      "ms",
      "retry",
      "of 3",
    ],
    ...[
      "Überlast",
      "ß",
      "漢字",
      "😀",
      "{",
      '"took"',
      "status=",
      "job",
      "10.0.0.7:5432",
      "\\d",
      "$name",
      "two\nlines",
      "",
    ],
  ],
  terms: {
    words,
    phrases: [
      "connection re",
      'a="open',
      "of 3: connection",
      "ERROR IN",
      "two lines",
      "logs",
      "payment failed: c",
      "\\d+",
    ],
    prefixes: ["conn", "err", "über", "GE", "start", "u1", "10"],
    labels: [
      ["service.name", services],
      ["log_level", ["info", "warn", "ERROR"]],
      ["status", ["200", "502", "abc"]],
      ["took", ["20ms", "1.5 MB"]],
    ],
  },
};

/** The labels, texts and words of rows. Ids and other labels of very many texts are among them. */
export function vocabularyOf(rows: readonly LogRow[], seed: number): Vocabulary {
  const random = new Random(seed, 72);
  const valuesOf = new Map<string, Set<string>>([["log_level", new Set(["error", "warn", "info"])]]);
  const texts = new Set<string>();
  const found = new Set<string>();
  for (let i = 0; i < 400; i++) {
    const { message, level, attributes } = random.pick(rows);
    for (const [label, value] of [["log_level", level] as const, ...Object.entries(attributes)]) {
      const values = valuesOf.get(label) ?? new Set([""]);
      valuesOf.set(label, values);
      if (values.size < 12) values.add(value);
    }
    const at = random.below(Math.min(message.length, 200) + 1);
    const cut = [...message.slice(at, at + 2 + random.below(14))].join("");
    if (texts.size < 60 && cut.isWellFormed() && cut !== "") texts.add(cut);
    for (const word of message.slice(0, 300).match(/[A-Za-z]{3,12}/g) ?? [])
      if (found.size < 80) found.add(word);
  }
  const logLabels = [...valuesOf].map(([label, values]) => [label, [...values]] as const);
  const simple = [...found].filter((word) => !/^(logs|count|traces|OR|AND|NOT)$/.test(word));
  return {
    logLabels,
    spanLabels: generatedVocabulary.spanLabels,
    texts: [...texts],
    terms: {
      words: simple,
      phrases: [...texts].filter((text) => !/[\n\r\t]/.test(text)),
      prefixes: simple.map((word) => word.slice(0, 4)),
      labels: logLabels
        .filter(([label]) => /^[a-z_.]+$/.test(label))
        .map(
          ([label, values]) =>
            [label, values.filter((value) => value !== "" && !value.includes("*"))] as const,
        )
        .filter(([, values]) => values.length > 0),
    },
  };
}
