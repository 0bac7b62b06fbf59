import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Answer, answerDifference } from "./answer.ts";
import type { Dataset } from "./dataset.ts";
import { type Spread, spreadOf } from "./figures.ts";
import { type BenchOptions, storesFolder } from "./options.ts";
import { type Outcomes, type RoundFigure, runOrder, type Turn, type TurnFigure } from "./order.ts";
import type { StepProgress } from "./progress.ts";
import { lineKinds, type Question, type QuestionKind, questionShapes } from "./question.ts";
import type { LoadFigure, Place, SystemName } from "./system.ts";

/** What was found of one system on one data set. */
export interface SystemFigure {
  system: SystemName;
  load: LoadFigure;
  queries: QueryFigure[];
  /** Largest resident set of a process that answered the queries. */
  memoryBytesPeak: number;
}

export interface QueryFigure {
  kind: QuestionKind;
  /** Columns and statistics warm, each time another needle; of all rounds together. */
  warmMs: Spread;
  /** First question of a fresh process, page cache as found; opening the store is not counted. */
  coldMs: Spread;
  /** Of columns, as they are stored, that the first question of a fresh process read: median; null where the system does not tell. */
  bytesRead: number | null;
  /** What the system said where it failed to answer; its times are not to be used then. */
  failure?: string;
}

const warmQuestions = 60;
const timedQuestions = 12;
/** One to get warm and one that is timed. */
const questionsMin = 2;
const coldRounds = 3;
const threads = 2;
/** Lines of a wrong answer that are shown. */
const differingLinesMax = 5;

type Show = (progress: StepProgress) => void;

/** Loads the rows into every system, asks all of them the same questions by turns, and proves that they answer the same. */
export async function measureQueries(
  options: BenchOptions,
  dataset: Dataset,
  show: Show,
): Promise<SystemFigure[]> {
  const places = placesFor(options, dataset);
  const figures: SystemFigure[] = [];
  try {
    for (const place of places) {
      const load = await runOrder(place, { do: "load" }, show);
      figures.push({ system: place.system, load, queries: [], memoryBytesPeak: 0 });
    }
    const asked = await askedKinds(places, options, show);
    await askAll(options, asked, figures, show);
    return figures;
  } finally {
    await Promise.all(places.map(({ dir }) => rm(dir, { recursive: true, force: true })));
  }
}

/** Loads the rows and measures what they take on the disk. */
export async function measureSizes(
  options: BenchOptions,
  dataset: Dataset,
  show: Show,
): Promise<SystemFigure[]> {
  return await measureQueries({ ...options, kinds: [] }, dataset, show);
}

function placesFor(options: BenchOptions, dataset: Dataset): Place[] {
  const { peers, revisionRoot } = options;
  const before: SystemName[] = revisionRoot === undefined ? [] : ["svc-before"];
  const own = new URL("..", import.meta.url).pathname;
  // Only logs have a bare text.
  const asked = dataset.signal === "logs" ? peers : peers.filter((name) => name !== "ripgrep");
  return (["svc", ...before, ...asked] as const).map((system) => ({
    system,
    dir: join(storesFolder(options), system),
    dataset,
    threads,
    root: system === "svc-before" ? revisionRoot! : own,
  }));
}

interface Asked {
  place: Place;
  kinds: QuestionKind[];
}

async function askedKinds(places: readonly Place[], options: BenchOptions, show: Show): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (const place of places) {
    const known = await runOrder(place, { do: "kinds" }, show);
    const kinds = options.kinds.filter(
      (kind) => known.includes(kind) && place.dataset.questions[kind].length >= questionsMin,
    );
    asked.push({ place, kinds });
  }
  return asked;
}

/** The systems take turns, in the other order in every second round. */
async function askAll(
  options: BenchOptions,
  asked: readonly Asked[],
  figures: SystemFigure[],
  show: Show,
): Promise<void> {
  const rounds = asked.map((): RoundFigure[] => []);
  const colds = asked.map((): ColdFigure[] => []);
  for (let round = 0; round < options.rounds; round++) {
    const order = [...asked.keys()];
    if (round % 2 === 1) order.reverse();
    for (const at of order) {
      const { place, kinds } = asked[at]!;
      if (kinds.length === 0) continue;
      if (round < coldRounds) colds[at]!.push(...(await askCold(asked[at]!, round, show)));
      const turns = kinds.map((kind) => turnOf(place.dataset.questions[kind], kind, round));
      const profileDir =
        options.profile && place.system === "svc" ? join(options.dataFolder, "profiles") : undefined;
      rounds[at]!.push(await runOrder(place, { do: "round", turns }, show, profileDir));
    }
    await proveEqual(asked, rounds, round, show);
  }
  for (const [at, { kinds }] of asked.entries()) {
    figures[at]!.memoryBytesPeak = Math.max(0, ...rounds[at]!.map(({ memoryBytesPeak }) => memoryBytesPeak));
    figures[at]!.queries = kinds.map((kind) => queryFigure(kind, rounds[at]!, colds[at]!));
  }
}

/** Every round has other questions, as far as there are enough of them. */
function turnOf(questions: readonly Question[], kind: QuestionKind, round: number): Turn {
  const warmCount = Math.min(warmQuestions, Math.floor(questions.length / 2));
  const warm = questions.slice(0, warmCount);
  const others = questions.slice(warmCount);
  const count = Math.min(timedQuestions, others.length);
  const timed = Array.from({ length: count }, (_, at) => others[(round * count + at) % others.length]!);
  return { kind, first: isLineKind(kind) ? anywhere(warm[0]!) : undefined, warm, timed };
}

function isLineKind(kind: QuestionKind): boolean {
  return (lineKinds as readonly QuestionKind[]).includes(kind);
}

/** Ids and numbers stand in few places each: a text that is everywhere warms the columns that all of them are looked for in. */
function anywhere(question: Question): Question {
  return { ...question, kind: "substring", text: "1" };
}

type ColdFigure = { kind: QuestionKind } & Outcomes["cold"];

async function askCold({ place, kinds }: Asked, round: number, show: Show): Promise<ColdFigure[]> {
  const figures: ColdFigure[] = [];
  // A search through bare text has nothing to warm.
  if (place.system === "ripgrep") return figures;
  for (const [at, kind] of kinds.entries()) {
    show({ step: `first query of ${place.system}`, done: at, total: kinds.length, unit: "kinds" });
    const questions = place.dataset.questions[kind];
    const question = questions[round % questions.length]!;
    figures.push({ kind, ...(await runOrder(place, { do: "cold", question }, show)) });
  }
  return figures;
}

function queryFigure(
  kind: QuestionKind,
  rounds: readonly RoundFigure[],
  colds: readonly ColdFigure[],
): QueryFigure {
  const ofKind = colds.filter((cold) => cold.kind === kind).filter((cold) => "askMs" in cold);
  const bytes = ofKind.map(({ bytesRead }) => bytesRead).filter((read) => read !== undefined);
  const turns = rounds.map((round) => turnIn(round, kind));
  const failure = turns.find((turn) => turn.failure !== undefined)?.failure;
  return {
    kind,
    warmMs: spreadOf(turns.flatMap(({ samplesMs }) => samplesMs)),
    coldMs: spreadOf(ofKind.map(({ askMs }) => askMs)),
    bytesRead: bytes.length === 0 ? null : spreadOf(bytes).median,
    ...(failure === undefined ? {} : { failure }),
  };
}

function turnIn(round: RoundFigure, kind: QuestionKind): TurnFigure {
  return round.turns.find((turn) => turn.kind === kind)!;
}

/** Throws where two systems gave different answers to a question, with both. */
async function proveEqual(
  asked: readonly Asked[],
  rounds: readonly (readonly RoundFigure[])[],
  round: number,
  show: Show,
): Promise<void> {
  const [first, ...others] = asked;
  for (const kind of first!.kinds) {
    const truth = turnIn(rounds[0]![round]!, kind);
    if (truth.failure !== undefined) continue;
    for (const [at, other] of others.entries()) {
      if (!other.kinds.includes(kind)) continue;
      const { hashes, failure } = turnIn(rounds[at + 1]![round]!, kind);
      if (failure !== undefined) continue;
      const differs = hashes.findIndex((hash, question) => hash !== truth.hashes[question]);
      if (differs < 0) continue;
      const { timed } = turnOf(first!.place.dataset.questions[kind], kind, round);
      throw await difference(first!.place, other.place, timed[differs]!, show);
    }
  }
}

async function difference(left: Place, right: Place, question: Question, show: Show): Promise<Error> {
  const answers: Answer[] = [];
  for (const place of [left, right]) answers.push(await runOrder(place, { do: "answer", question }, show));
  const name = `${questionShapes[question.kind].name}${question.text === "" ? "" : ` (${question.text})`}`;
  const lines = answerDifference(answers[0]!, answers[1]!, differingLinesMax);
  return new Error(
    `${left.dataset.name}: ${left.system} (-) and ${right.system} (+) answer differently: ${name}\n${lines}`,
  );
}
