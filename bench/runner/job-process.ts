/** The process that does one job of `job.ts`. */
import { once } from "node:events";
import { Bench, type Task } from "tinybench";
import { hashAnswer } from "../systems/answer.ts";
import { loadSystemModule } from "../systems/modules.ts";
import type { StoreTarget, System, SystemResult } from "../systems/system.ts";
import type { StepProgress } from "../terminal/progress.ts";
import type {
  Job,
  JobMessage,
  JobRequest,
  JobResults,
  KindQuestions,
  KindResult,
  RoundResult,
} from "./job.ts";

const progressEveryMs = 100;
/** The least time of warm questions of a kind: until code is compiled and caches are filled. */
const warmMs = 2000;
/** Of so few rows nobody wants the figures: it is a trial of the benchmark itself. */
const trialRowsMax = 100_000;
const trialWarmMs = 100;

function send(message: JobMessage): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}

let shownMs = 0;
function show(progress: StepProgress): void {
  const nowMs = performance.now();
  if (nowMs - shownMs < progressEveryMs && progress.done > 0) return;
  shownMs = nowMs;
  void send({ kind: "progress", progress });
}

async function doJob(job: Job, target: StoreTarget): Promise<JobResults[keyof JobResults]> {
  const system = await loadSystemModule(target.system);
  switch (job.do) {
    case "kinds":
      return [...(await system.listKinds(target))];
    case "load": {
      const { rows, fileBytes: inputBytes } = target.dataset;
      return { ...(await system.load(target, show)), rows, inputBytes };
    }
    case "cold":
      return useAndClose(await system.open(target), async (opened) => {
        const begunMs = performance.now();
        try {
          const { bytesRead } = await opened.ask(job.question);
          return { askMs: performance.now() - begunMs, bytesRead };
        } catch (error) {
          return { failure: messageOf(error) };
        }
      });
    case "round":
      return useAndClose(await system.open(target), (opened) => measureRound(opened, job.kinds, target));
    case "answer":
      return useAndClose(await system.open(target), async (opened) =>
        (await opened.ask(job.question)).answer(),
      );
  }
}

async function useAndClose<T>(system: System, use: (system: System) => Promise<T>): Promise<T> {
  try {
    return await use(system);
  } finally {
    await system.close();
  }
}

/** A question that a system cannot answer costs the figures of its kind only. */
async function measureRound(
  system: System,
  kinds: readonly KindQuestions[],
  target: StoreTarget,
): Promise<RoundResult> {
  const results: KindResult[] = [];
  for (const [at, questions] of kinds.entries()) {
    show({ step: `query ${target.system}`, done: at, total: kinds.length, unit: "kinds" });
    try {
      results.push(await measureKind(system, questions, target.dataset.rows));
    } catch (error) {
      results.push({ kind: questions.kind, samplesMs: [], hashes: [], failure: messageOf(error) });
    }
  }
  return { kinds: results, memoryBytesPeak: process.resourceUsage().maxRSS * 1024 };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Asks every timed question once. Answers are converted and hashed outside of the measured time. */
async function measureKind(
  system: System,
  { kind, first, warm, timed }: KindQuestions,
  rows: number,
): Promise<KindResult> {
  if (first !== undefined) await system.ask(first);
  const hashes: string[] = [];
  let isWarm = false;
  let turn = 0;
  const ask = async (): Promise<{ overriddenDuration: number }> => {
    const question = isWarm ? timed[turn]! : warm[turn % warm.length]!;
    turn += 1;
    const begunMs = performance.now();
    const result: SystemResult = await system.ask(question);
    const overriddenDuration = performance.now() - begunMs;
    if (isWarm) hashes.push(hashAnswer(result.answer()));
    return { overriddenDuration };
  };
  const bench = new Bench({
    iterations: timed.length,
    time: 0,
    warmupIterations: warm.length,
    warmupTime: rows <= trialRowsMax ? trialWarmMs : warmMs,
    retainSamples: true,
    throws: true,
    setup: (_: Task | undefined, mode: string | undefined) => {
      isWarm = mode === "run";
      turn = 0;
    },
  });
  bench.add(kind, ask, { async: true });
  const [task] = await bench.run();
  const result = task!.result;
  if (!("latency" in result)) throw new Error(`${kind}: ${result.state}`);
  return { kind, samplesMs: [...(result.latency.samples ?? [])], hashes };
}

const [{ job, target }] = (await once(process, "message")) as [JobRequest];
await send({ kind: "result", result: await doJob(job, target) });
process.disconnect();
