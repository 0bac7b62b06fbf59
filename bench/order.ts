import { fork } from "node:child_process";
import { once } from "node:events";
import type { Answer } from "./answer.ts";
import type { StepProgress } from "./progress.ts";
import type { Question, QuestionKind } from "./question.ts";
import type { LoadFigure, Place } from "./system.ts";

/** What a fresh process is to do with one system. */
export type Order =
  | { do: "kinds" }
  | { do: "load" }
  /** The first question of a process that has answered nothing yet. */
  | { do: "cold"; question: Question }
  | { do: "round"; turns: Turn[] }
  | { do: "answer"; question: Question };

/** Questions of one kind: some to get warm, and those that are timed, each once. */
export interface Turn {
  kind: QuestionKind;
  warm: Question[];
  /** Asked once, first. */
  first: Question | undefined;
  timed: Question[];
}

export interface Outcomes {
  kinds: QuestionKind[];
  load: LoadFigure;
  cold: { askMs: number; bytesRead: number | undefined } | { failure: string };
  round: RoundFigure;
  answer: Answer;
}

export interface RoundFigure {
  turns: TurnFigure[];
  memoryBytesPeak: number;
}

export interface TurnFigure {
  kind: QuestionKind;
  /** In the order of the questions. */
  samplesMs: number[];
  hashes: string[];
  /** What the system said where it failed to answer a question; then there are no samples. */
  failure?: string;
}

export type RunnerMessage =
  | { kind: "progress"; progress: StepProgress }
  | { kind: "outcome"; outcome: Outcomes[keyof Outcomes] };

export interface RunnerOrder {
  order: Order;
  place: Place;
}

/** Has a fresh process do it. Throws where it fails. `profileDir` takes CPU profiles of the process. */
export async function runOrder<D extends Order["do"]>(
  place: Place,
  order: Extract<Order, { do: D }>,
  show: (progress: StepProgress) => void,
  profileDir?: string,
): Promise<Outcomes[D]> {
  const execArgv = profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`];
  const child = fork(new URL("runner.ts", import.meta.url), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
    execArgv,
  });
  let outcome: Outcomes[D] | undefined;
  child.on("message", (message: RunnerMessage) => {
    if (message.kind === "progress") show(message.progress);
    else outcome = message.outcome as Outcomes[D];
  });
  child.send({ order, place } satisfies RunnerOrder);
  const [code, signal] = await once(child, "exit");
  if (outcome === undefined)
    throw new Error(`${place.system}: the process for "${order.do}" ended with ${signal ?? `code ${code}`}`);
  return outcome;
}
