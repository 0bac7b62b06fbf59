import { open } from "node:fs/promises";
import type { NeedleKind, NeedleSurvey } from "../fixtures/needles.ts";
import { plantedCount } from "../fixtures/planted.ts";
import type { Dataset } from "./dataset.ts";
import type { StepProgress } from "./progress.ts";
import { logKinds, type Question, type QuestionKind, questionShapes } from "./question.ts";

type Facts = Omit<Dataset, "questions">;

/** Questions of a kind; no process is asked one of them twice while it is timed. */
export const perKind = 100;
/** Looking for one takes a second in some gigabytes. */
const candidatesPerKind = 150;
const blockBytes = 16 * 2 ** 20;

/**
 * The questions of every kind. Words and numbers are only taken where they stand as whole tokens everywhere: then a search for
 * a token, which an index may answer, and a search for the text mean the same.
 */
export async function chooseQuestions(
  facts: Facts,
  survey: NeedleSurvey,
  show: (progress: StepProgress) => void,
): Promise<Partial<Record<QuestionKind, Question[]>>> {
  const candidates = (["number", rareKind(facts)] as const).flatMap((kind) =>
    shuffled(survey.needles(kind).map(({ text }) => text)).slice(0, candidatesPerKind),
  );
  const whole = await wholeTokens(facts, candidates, show);
  return Object.fromEntries(logKinds.map((kind) => [kind, questionsOf(kind, facts, survey, whole)]));
}

function rareKind({ name }: Facts): NeedleKind {
  return name === "train-ticket" ? "seldom" : "rare";
}

function questionsOf(
  kind: QuestionKind,
  facts: Facts,
  survey: NeedleSurvey,
  whole: ReadonlySet<string>,
): Question[] {
  const { needles } = questionShapes[kind];
  const range = { startMs: facts.startMs, endMs: facts.endMs };
  if (needles === undefined)
    return Array.from({ length: perKind }, (_, at) => rangeQuestion(kind, facts, at));
  const texts = survey
    .needles(kind === "rare" ? rareKind(facts) : needles)
    .map(({ text }) => text)
    .filter((text, at) => {
      if (kind === "rare") return whole.has(text) && isPlanted(facts, at);
      return kind !== "number" || whole.has(text);
    });
  return shuffled(texts)
    .slice(0, perKind)
    .map((text) => ({
      kind,
      text,
      ...(kind === "regex" ? { literal: text.slice(0, text.indexOf("[")) } : {}),
      ...range,
    }));
}

function isPlanted(facts: Facts, word: number): boolean {
  return facts.name === "train-ticket" || plantedCount(word, facts.rows) > 0;
}

/** The newest rows before another time for each question; else all rows, in a range that begins that much earlier. */
function rangeQuestion(kind: QuestionKind, { startMs, endMs }: Facts, at: number): Question {
  if (kind !== "newest") return { kind, text: "", startMs: startMs - at, endMs };
  const halfMs = Math.floor((endMs - startMs) / 2);
  // The golden ratio strews the times over the newer half.
  const share = (at * 0.618033988749895) % 1;
  return { kind, text: "", startMs, endMs: endMs - Math.floor(halfMs * share) };
}

/** In an order of its own, the same in every run, so that neighbours in the alphabet are apart. */
function shuffled(texts: readonly string[]): string[] {
  const weight = (text: string): number => {
    let hash = 0;
    for (const letter of text) hash = (Math.imul(hash, 31) + letter.codePointAt(0)!) >>> 0;
    return Math.imul(hash, 2654435761) >>> 0;
  };
  return texts.toSorted((a, b) => weight(a) - weight(b));
}

/** Those of the texts before and behind which a letter or a digit stands in no message. */
async function wholeTokens(
  { textFile }: Facts,
  texts: readonly string[],
  show: (progress: StepProgress) => void,
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
        if (!standsApart(block.subarray(0, bytesRead), needles.get(text)!)) whole.delete(text);
      }
      show({ step: "choose needles", done: from, total: fileBytes, unit: "bytes" });
    }
  } finally {
    await handle.close();
  }
  return whole;
}

function standsApart(bytes: Buffer, needle: Buffer): boolean {
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
