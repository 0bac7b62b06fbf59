/** Jobs that fresh processes do: each process does one job with one system and ends. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mallocSettings } from "../../server/index.ts";
import type { BenchQuestion, QuestionKind } from "../datasets/question.ts";
import type { CanonicalAnswer } from "../systems/answer.ts";
import type { LoadFigure, StoreTarget } from "../systems/system.ts";
import type { ShowProgress, StepProgress } from "../terminal/progress.ts";

export type Job =
  | { do: "kinds" }
  | { do: "load" }
  /** Asks one question in a process that has answered nothing yet. */
  | { do: "cold"; question: BenchQuestion }
  | { do: "round"; kinds: KindQuestions[] }
  | { do: "answer"; question: BenchQuestion };

/** What a round asks of one kind. */
export interface KindQuestions {
  kind: QuestionKind;
  /** Asked once, before all others. */
  first: BenchQuestion | undefined;
  warm: BenchQuestion[];
  /** Timed, each once. */
  timed: BenchQuestion[];
}

/** What each job returns. */
export interface JobResults {
  kinds: QuestionKind[];
  load: LoadFigure;
  cold: { askMs: number; bytesRead: number | undefined } | { failure: string };
  round: RoundResult;
  answer: CanonicalAnswer;
}

export interface RoundResult {
  kinds: KindResult[];
  memoryBytesPeak: number;
}

export interface KindResult {
  kind: QuestionKind;
  /** One a timed question, sorted. */
  samplesMs: number[];
  /** Hashes of the answers, in the order of the timed questions. */
  hashes: string[];
  /** The system's error where a question failed; then there are no samples. */
  failure?: string;
}

/** From the process that does the job. */
export type JobMessage =
  | { kind: "progress"; progress: StepProgress }
  | { kind: "result"; result: JobResults[keyof JobResults] };

/** To the process that does the job. */
export interface JobRequest {
  job: Job;
  target: StoreTarget;
}

/** Runs a job in a fresh process. Throws where the process fails. Writes CPU profiles into `profileDir` if given. */
export async function runJob<D extends Job["do"]>(
  target: StoreTarget,
  job: Extract<Job, { do: D }>,
  show: ShowProgress,
  profileDir?: string,
): Promise<JobResults[D]> {
  const execArgv = profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`];
  // Questions are asked of a process that has the settings of a server's; `svc ingest` sets its own.
  const asksSvc = target.system === "svc" && job.do !== "load";
  const child = fork(new URL("job-process.ts", import.meta.url), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
    execArgv,
    env: { ...process.env, ...(asksSvc ? mallocSettings("serve") : {}) },
  });
  let result: JobResults[D] | undefined;
  child.on("message", (message: JobMessage) => {
    if (message.kind === "progress") show(message.progress);
    else result = message.result as JobResults[D];
  });
  child.send({ job, target } satisfies JobRequest);
  const [code, signal] = await once(child, "exit");
  if (result === undefined)
    throw new Error(`${target.system}: the process for "${job.do}" ended with ${signal ?? `code ${code}`}`);
  return result;
}
