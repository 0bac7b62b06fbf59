/**
 * Loads the rows into every system, asks all of them the same questions in rounds, and verifies that their answers are
 * equal.
 */
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type BenchOptions, storesFolderOf } from "../command/options.ts";
import type { BenchDataset } from "../datasets/dataset.ts";
import { type BenchQuestion, lineKinds, type QuestionKind, questionShapes } from "../datasets/question.ts";
import { type Spread, spreadOf } from "../measure/spread.ts";
import { projectRoot } from "../paths.ts";
import { type CanonicalAnswer, formatAnswerDifference } from "../systems/answer.ts";
import type { LoadFigure, StoreTarget, SystemName } from "../systems/system.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { type JobResults, type KindQuestions, type KindResult, type RoundResult, runJob } from "./job.ts";

/** What was measured of one system on one data set. */
export interface SystemFigure {
  system: SystemName;
  load: LoadFigure;
  queries: QueryFigure[];
  /** Largest resident set of the processes that answered. */
  memoryBytesPeak: number;
}

export interface QueryFigure {
  kind: QuestionKind;
  /** With columns and statistics in memory, each time another question; all rounds together. */
  warmMs: Spread;
  /** The first question of a fresh process, without opening the store; the page cache is not cleared. */
  coldMs: Spread;
  /**
   * Bytes of columns, as stored, that the first question of a process read: median. Null where the system does not
   * report it.
   */
  bytesRead: number | null;
  /** The system's error where a question failed; the times are meaningless then. */
  failure?: string;
}

const warmQuestionsMax = 60;
const timedQuestionsMax = 12;
/** One warm question and one that is timed. */
const questionsMin = 2;
const coldRounds = 3;
const threads = 2;
/** Lines of two different answers that the error shows. */
const differingLinesMax = 5;

/** Measures the load and the questions of one data set. Throws where two systems answer a question differently. */
export async function measureQueries(
  options: BenchOptions,
  dataset: BenchDataset,
  show: ShowProgress,
): Promise<SystemFigure[]> {
  const targets = makeTargets(options, dataset);
  const figures: SystemFigure[] = [];
  try {
    await readOnce(dataset.file);
    for (const target of targets) {
      const load = await runJob(target, { do: "load" }, show);
      figures.push({ system: target.system, load, queries: [], memoryBytesPeak: 0 });
    }
    const systems = await findKinds(targets, options, show);
    await askInRounds(options, systems, figures, show);
    return figures;
  } finally {
    await Promise.all(targets.map(({ dir }) => rm(dir, { recursive: true, force: true })));
  }
}

/** Reads a file to its end, so that every system finds it in the page cache. */
async function readOnce(file: string): Promise<void> {
  for await (const _ of createReadStream(file, { highWaterMark: 4 * 1024 * 1024 }));
}

/** Measures the load and the bytes on disk alone. */
export async function measureSizes(
  options: BenchOptions,
  dataset: BenchDataset,
  show: ShowProgress,
): Promise<SystemFigure[]> {
  return await measureQueries({ ...options, kinds: [] }, dataset, show);
}

function makeTargets(options: BenchOptions, dataset: BenchDataset): StoreTarget[] {
  const { peers, revisionRoot } = options;
  const before: SystemName[] = revisionRoot === undefined ? [] : ["svc-before"];
  // ripgrep searches bare messages, which only logs have.
  const comparedPeers = dataset.signal === "logs" ? peers : peers.filter((name) => name !== "ripgrep");
  return (["svc", ...before, ...comparedPeers] as const).map((system) => ({
    system,
    dir: join(storesFolderOf(options), system),
    dataset,
    threads,
    root: system === "svc-before" ? revisionRoot! : projectRoot,
  }));
}

interface TargetKinds {
  target: StoreTarget;
  kinds: QuestionKind[];
}

async function findKinds(
  targets: readonly StoreTarget[],
  options: BenchOptions,
  show: ShowProgress,
): Promise<TargetKinds[]> {
  const systems: TargetKinds[] = [];
  for (const target of targets) {
    const answerable = await runJob(target, { do: "kinds" }, show);
    const kinds = options.kinds.filter(
      (kind) => answerable.includes(kind) && target.dataset.questions[kind].length >= questionsMin,
    );
    systems.push({ target, kinds });
  }
  return systems;
}

/** The systems take turns, in reverse order in every second round. */
async function askInRounds(
  options: BenchOptions,
  systems: readonly TargetKinds[],
  figures: SystemFigure[],
  show: ShowProgress,
): Promise<void> {
  const rounds = systems.map((): RoundResult[] => []);
  const coldResults = systems.map((): ColdResult[] => []);
  for (let round = 0; round < options.rounds; round++) {
    const order = [...systems.keys()];
    if (round % 2 === 1) order.reverse();
    for (const at of order) {
      const { target, kinds } = systems[at]!;
      if (kinds.length === 0) continue;
      if (round < coldRounds) coldResults[at]!.push(...(await askCold(systems[at]!, round, show)));
      const questions = kinds.map((kind) => selectQuestions(target.dataset.questions[kind], kind, round));
      const profileDir =
        options.profile && target.system === "svc" ? join(options.dataFolder, "profiles") : undefined;
      rounds[at]!.push(await runJob(target, { do: "round", kinds: questions }, show, profileDir));
    }
    await verifyEqualAnswers(systems, rounds, round, show);
  }
  for (const [at, { kinds }] of systems.entries()) {
    figures[at]!.memoryBytesPeak = Math.max(0, ...rounds[at]!.map(({ memoryBytesPeak }) => memoryBytesPeak));
    figures[at]!.queries = kinds.map((kind) => toQueryFigure(kind, rounds[at]!, coldResults[at]!));
  }
}

/** Each round times other questions while there are enough of them. */
function selectQuestions(
  questions: readonly BenchQuestion[],
  kind: QuestionKind,
  round: number,
): KindQuestions {
  const warmCount = Math.min(warmQuestionsMax, Math.floor(questions.length / 2));
  const warm = questions.slice(0, warmCount);
  const others = questions.slice(warmCount);
  const count = Math.min(timedQuestionsMax, others.length);
  const timed = Array.from({ length: count }, (_, at) => others[(round * count + at) % others.length]!);
  return { kind, first: isLineKind(kind) ? toFrequentText(warm[0]!) : undefined, warm, timed };
}

function isLineKind(kind: QuestionKind): boolean {
  return (lineKinds as readonly QuestionKind[]).includes(kind);
}

/**
 * Ids and numbers occur in few chunks each. A search for "1", which occurs everywhere, loads the columns that those
 * searches read.
 */
function toFrequentText(question: BenchQuestion): BenchQuestion {
  return { ...question, kind: "substring", text: "1" };
}

type ColdResult = { kind: QuestionKind } & JobResults["cold"];

async function askCold(
  { target, kinds }: TargetKinds,
  round: number,
  show: ShowProgress,
): Promise<ColdResult[]> {
  const figures: ColdResult[] = [];
  // ripgrep has no cold time of its own: it keeps nothing in memory between searches.
  if (target.system === "ripgrep") return figures;
  for (const [at, kind] of kinds.entries()) {
    show({ step: `first query of ${target.system}`, done: at, total: kinds.length, unit: "kinds" });
    const questions = target.dataset.questions[kind];
    const question = questions[round % questions.length]!;
    figures.push({ kind, ...(await runJob(target, { do: "cold", question }, show)) });
  }
  return figures;
}

function toQueryFigure(
  kind: QuestionKind,
  rounds: readonly RoundResult[],
  coldResults: readonly ColdResult[],
): QueryFigure {
  const ofKind = coldResults.filter((cold) => cold.kind === kind).filter((cold) => "askMs" in cold);
  const bytes = ofKind.map(({ bytesRead }) => bytesRead).filter((read) => read !== undefined);
  const results = rounds.map((round) => kindResultOf(round, kind));
  const failure = results.find((result) => result.failure !== undefined)?.failure;
  return {
    kind,
    warmMs: spreadOf(results.flatMap(({ samplesMs }) => samplesMs)),
    coldMs: spreadOf(ofKind.map(({ askMs }) => askMs)),
    bytesRead: bytes.length === 0 ? null : spreadOf(bytes).median,
    ...(failure === undefined ? {} : { failure }),
  };
}

function kindResultOf(round: RoundResult, kind: QuestionKind): KindResult {
  return round.kinds.find((result) => result.kind === kind)!;
}

/** Throws with both answers where a system's answer to a question differs from the first system's. */
async function verifyEqualAnswers(
  systems: readonly TargetKinds[],
  rounds: readonly (readonly RoundResult[])[],
  round: number,
  show: ShowProgress,
): Promise<void> {
  const [first, ...others] = systems;
  for (const kind of first!.kinds) {
    const truth = kindResultOf(rounds[0]![round]!, kind);
    if (truth.failure !== undefined) continue;
    for (const [at, other] of others.entries()) {
      if (!other.kinds.includes(kind)) continue;
      const { hashes, failure } = kindResultOf(rounds[at + 1]![round]!, kind);
      if (failure !== undefined) continue;
      const differs = hashes.findIndex((hash, question) => hash !== truth.hashes[question]);
      if (differs < 0) continue;
      const { timed } = selectQuestions(first!.target.dataset.questions[kind], kind, round);
      throw await makeDifferenceError(first!.target, other.target, timed[differs]!, show);
    }
  }
}

async function makeDifferenceError(
  left: StoreTarget,
  right: StoreTarget,
  question: BenchQuestion,
  show: ShowProgress,
): Promise<Error> {
  const answers: CanonicalAnswer[] = [];
  for (const target of [left, right]) answers.push(await runJob(target, { do: "answer", question }, show));
  const name = `${questionShapes[question.kind].name}${question.text === "" ? "" : ` (${question.text})`}`;
  const lines = formatAnswerDifference(answers[0]!, answers[1]!, differingLinesMax);
  return new Error(
    `${left.dataset.name}: ${left.system} (-) and ${right.system} (+) answer differently: ${name}\n${lines}`,
  );
}
