import { open } from "node:fs/promises";
import type { NeedleKind, NeedleSurvey } from "../../fixtures/needles.ts";
import { countPlanted } from "../../fixtures/planted.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import type { DatasetFacts } from "./dataset.ts";
import {
  type BenchQuestion,
  logKinds,
  type QuestionKind,
  questionShapes,
  questionsPerKind,
} from "./question.ts";

/** A search for one candidate takes about a second in some gigabytes, so their number is bounded. */
const candidatesPerKind = 150;
const blockBytes = 16 * 2 ** 20;

/**
 * Chooses the questions of every kind about logs. Words and numbers are taken only where they are whole tokens wherever
 * they occur: then a token search, which an index can answer, and a text search give the same count.
 */
export async function chooseQuestions(
  facts: DatasetFacts,
  survey: NeedleSurvey,
  show: ShowProgress,
): Promise<Partial<Record<QuestionKind, BenchQuestion[]>>> {
  const candidates = (["number", rareKindOf(facts)] as const).flatMap((kind) =>
    shuffle(survey.needles(kind).map(({ text }) => text)).slice(0, candidatesPerKind),
  );
  const tokens = await findWholeTokens(facts, candidates, show);
  return Object.fromEntries(logKinds.map((kind) => [kind, chooseOfKind(kind, facts, survey, tokens)]));
}

/** Train Ticket has no planted words, so its rare words are found in the rows. */
function rareKindOf({ name }: DatasetFacts): NeedleKind {
  return name === "train-ticket" ? "seldom" : "rare";
}

function chooseOfKind(
  kind: QuestionKind,
  facts: DatasetFacts,
  survey: NeedleSurvey,
  tokens: ReadonlySet<string>,
): BenchQuestion[] {
  if (kind === "variableRegex") return makeVariablePatterns(facts);
  if ((kind === "topValues" || kind === "topOfMany") && countedAttributeOf(kind, facts) === undefined)
    return [];
  const { needles } = questionShapes[kind];
  const range = { startMs: facts.startMs, endMs: facts.endMs };
  if (needles === undefined)
    return Array.from({ length: questionsPerKind }, (_, at) => makeRangeQuestion(kind, facts, at));
  const texts = survey
    .needles(kind === "rare" ? rareKindOf(facts) : needles)
    .map(({ text }) => text)
    .filter((text, at) => {
      if (kind === "rare") return tokens.has(text) && isPlanted(facts, at);
      return kind !== "number" || tokens.has(text);
    });
  if (kind === "sequence") return chooseSequences(shuffle(texts), range);
  return shuffle(texts)
    .slice(0, questionsPerKind)
    .map((text) => ({
      kind,
      text,
      ...(kind === "regex" ? { literal: text.slice(0, text.indexOf("[")) } : {}),
      ...range,
    }));
}

/** Regular expressions whose literal text occurs in variables, by set: `NN` is replaced by two digits. */
const variablePatterns: Readonly<Partial<Record<DatasetFacts["name"], readonly string[]>>> = {
  system: ["blk_-?[0-9]{5,}NN[0-9]+ "],
  wide: ["S-1-5-21-[0-9]{9,}-[0-9]+-[0-9]+-1NN[0-9]", "0x[0-9a-f]{4}NN[0-9a-f]+"],
};

function makeVariablePatterns({ name, startMs, endMs }: DatasetFacts): BenchQuestion[] {
  const patterns = variablePatterns[name] ?? [];
  return Array.from({ length: patterns.length === 0 ? 0 : questionsPerKind }, (_, at) => {
    const text = patterns[at % patterns.length]!.replace("NN", String(at).padStart(2, "0"));
    return { kind: "variableRegex", text, literal: text.slice(0, text.search(/[[?]|-\?/)), startMs, endMs };
  });
}

/** The attribute of a few hundred or some thousand values; undefined where the set has none. */
function countedAttributeOf(kind: "topValues" | "topOfMany", { name }: DatasetFacts): string | undefined {
  if (name === "wide") return kind === "topValues" ? "host.name" : "user.name";
  return kind === "topValues" ? "k8s.pod.name" : undefined;
}

/** Pairs of different words. */
function chooseSequences(
  words: readonly string[],
  range: Pick<BenchQuestion, "startMs" | "endMs">,
): BenchQuestion[] {
  const pairs = words.flatMap((_, apart) => {
    if (apart === 0) return [];
    return words.map((text, i) => ({ text, second: words[(i + apart) % words.length]! }));
  });
  return pairs.slice(0, questionsPerKind).map((pair) => ({ kind: "sequence", ...pair, ...range }));
}

function isPlanted(facts: DatasetFacts, word: number): boolean {
  return facts.name === "train-ticket" || countPlanted(word, facts.rows) > 0;
}

/** Each question has another range: `newest` ends at another time, every other kind begins a millisecond earlier. */
function makeRangeQuestion(kind: QuestionKind, facts: DatasetFacts, at: number): BenchQuestion {
  const { startMs, endMs } = facts;
  const attribute =
    kind === "topValues" || kind === "topOfMany" ? countedAttributeOf(kind, facts) : undefined;
  if (kind !== "newest")
    return {
      kind,
      text: "",
      ...(attribute === undefined ? {} : { attribute }),
      startMs: startMs - at,
      endMs,
    };
  const halfMs = Math.floor((endMs - startMs) / 2);
  // Multiples of the golden ratio spread the times evenly over the newer half.
  const share = (at * 0.618033988749895) % 1;
  return { kind, text: "", startMs, endMs: endMs - Math.floor(halfMs * share) };
}

/** Orders by a hash of the text: the same in every run, with alphabetical neighbours apart. */
function shuffle(texts: readonly string[]): string[] {
  const weight = (text: string): number => {
    let hash = 0;
    for (const letter of text) hash = (Math.imul(hash, 31) + letter.codePointAt(0)!) >>> 0;
    return Math.imul(hash, 2654435761) >>> 0;
  };
  return texts.toSorted((a, b) => weight(a) - weight(b));
}

/** Returns the texts that no message holds beside a letter, a digit or a byte of a longer UTF-8 character. */
async function findWholeTokens(
  { textFile }: DatasetFacts,
  texts: readonly string[],
  show: ShowProgress,
): Promise<Set<string>> {
  const whole = new Set(texts);
  const needles = new Map(texts.map((text) => [text, Buffer.from(text)]));
  const overlap = 64;
  const block = Buffer.alloc(blockBytes + overlap);
  const handle = await open(textFile);
  try {
    const { size: fileBytes } = await handle.stat();
    for (let from = 0; from < fileBytes; from += blockBytes) {
      const { bytesRead } = await handle.read(block, 0, block.length, from);
      for (const text of whole) {
        if (!isAlwaysWholeToken(block.subarray(0, bytesRead), needles.get(text)!)) whole.delete(text);
      }
      show({ step: "choose needles", done: from, total: fileBytes, unit: "bytes" });
    }
  } finally {
    await handle.close();
  }
  return whole;
}

function isAlwaysWholeToken(bytes: Buffer, needle: Buffer): boolean {
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + 1)) {
    if (isWordByte(bytes[at - 1]) || isWordByte(bytes[at + needle.length])) return false;
  }
  return true;
}

function isWordByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (
    (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122) || byte >= 128
  );
}
