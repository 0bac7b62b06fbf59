/** What a store is asked at each size. */
import type { BenchDataset } from "../datasets/dataset.ts";
import type { QuestionKind } from "../datasets/question.ts";
import { questionShapes } from "../datasets/question.ts";
import { toSvcql } from "../systems/svcql.ts";

/** One question with the texts that it is asked for in turn, so that no answer can be cached. */
export interface ScaleQuestion {
  name: string;
  kind: "rows" | "series" | "patterns" | "fields";
  /** svcQL texts, or search terms. */
  queries: string[];
  bucketSeconds?: number;
}

/** Texts of a question: the first is asked cold, the others warm. */
const textsEach = 12;
/** A bucket that holds every row. */
const wholeSeconds = 400 * 86_400;

const kinds: readonly QuestionKind[] = [
  ...(["absent", "rare", "substring", "phrase", "regex", "number", "id", "ignoreCase"] as const),
  ...(["newestWord", "newestService", "newest", "trace"] as const),
  ...(["byService", "byMinuteLevel", "serviceByMinuteLevel", "topValues"] as const),
];
const rowKinds: readonly QuestionKind[] = ["newestWord", "newestService", "newest", "trace"];

export function listScaleQuestions({ questions }: BenchDataset): ScaleQuestion[] {
  const asked = kinds.map((kind): ScaleQuestion => {
    const { name, bucketSeconds } = questionShapes[kind];
    const queries = questions[kind].slice(0, textsEach).map(toSvcql);
    return rowKinds.includes(kind)
      ? { name, kind: "rows", queries }
      : { name, kind: "series", queries, bucketSeconds: bucketSeconds ?? wholeSeconds };
  });
  const words = questions.newestWord.slice(0, textsEach).map(({ text }) => text);
  const numbers = questions.number.slice(0, textsEach).map(({ text }) => text);
  return [
    ...asked,
    countOf(
      "count a part of a number",
      numbers.map((text) => `count(logs |= ${JSON.stringify(text.slice(1, 8))})`),
    ),
    countOf("count an expression over variables", ["blk_-?[0-9]{5,}3[0-9]+ "].map(toPatternCount)),
    { name: "patterns of all rows", kind: "patterns", queries: ["", ""] },
    { name: "patterns of a search", kind: "patterns", queries: words },
    { name: "fields of all rows", kind: "fields", queries: ["", ""] },
    { name: "fields of a search", kind: "fields", queries: words },
  ];
}

function countOf(name: string, queries: string[]): ScaleQuestion {
  return { name, kind: "series", queries, bucketSeconds: wholeSeconds };
}

function toPatternCount(pattern: string): string {
  return `count(logs |~ ${JSON.stringify(pattern)})`;
}
