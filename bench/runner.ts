/** The process in which order.ts has one order carried out. */
import { once } from "node:events";
import { Bench, type Task } from "tinybench";
import { answerHash } from "./answer.ts";
import type { Order, Outcomes, RoundFigure, RunnerMessage, RunnerOrder, Turn, TurnFigure } from "./order.ts";
import type { StepProgress } from "./progress.ts";
import { type Place, type Result, type System, systemModule } from "./system.ts";

const progressEveryMs = 100;
/** Until compilers and caches have seen enough. */
const warmMs = 2000;

function send(message: RunnerMessage): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}

let shownMs = 0;
function show(progress: StepProgress): void {
  const nowMs = performance.now();
  if (nowMs - shownMs < progressEveryMs && progress.done > 0) return;
  shownMs = nowMs;
  void send({ kind: "progress", progress });
}

async function carryOut(order: Order, place: Place): Promise<Outcomes[keyof Outcomes]> {
  const system = await systemModule(place.system);
  switch (order.do) {
    case "kinds":
      return [...(await system.kinds(place))];
    case "load": {
      const { rows, fileBytes: inputBytes } = place.dataset;
      return { ...(await system.load(place, show)), rows, inputBytes };
    }
    case "cold":
      return usingOpen(await system.open(place), async (opened) => {
        const begunMs = performance.now();
        try {
          const { bytesRead } = await opened.ask(order.question);
          return { askMs: performance.now() - begunMs, bytesRead };
        } catch (error) {
          return { failure: failureText(error) };
        }
      });
    case "round":
      return usingOpen(await system.open(place), (opened) => measureRound(opened, order.turns, place));
    case "answer":
      return usingOpen(await system.open(place), async (opened) =>
        (await opened.ask(order.question)).answer(),
      );
  }
}

async function usingOpen<T>(system: System, use: (system: System) => Promise<T>): Promise<T> {
  try {
    return await use(system);
  } finally {
    await system.close();
  }
}

async function measureRound(system: System, turns: readonly Turn[], place: Place): Promise<RoundFigure> {
  const figures: TurnFigure[] = [];
  for (const [at, turn] of turns.entries()) {
    show({ step: `query ${place.system}`, done: at, total: turns.length, unit: "kinds" });
    try {
      figures.push(await measureTurn(system, turn));
    } catch (error) {
      figures.push({ kind: turn.kind, samplesMs: [], hashes: [], failure: failureText(error) });
    }
  }
  return { turns: figures, memoryBytesPeak: process.resourceUsage().maxRSS * 1024 };
}

/** One question that a system cannot answer does not take the others' figures away. */
function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Every timed question is asked once; the answers are read and hashed outside of the time. */
async function measureTurn(system: System, { kind, first, warm, timed }: Turn): Promise<TurnFigure> {
  if (first !== undefined) await system.ask(first);
  const hashes: string[] = [];
  let isWarm = false;
  let turn = 0;
  const ask = async (): Promise<{ overriddenDuration: number }> => {
    const question = isWarm ? timed[turn]! : warm[turn % warm.length]!;
    turn += 1;
    const begunMs = performance.now();
    const result: Result = await system.ask(question);
    const overriddenDuration = performance.now() - begunMs;
    if (isWarm) hashes.push(answerHash(result.answer()));
    return { overriddenDuration };
  };
  const bench = new Bench({
    iterations: timed.length,
    time: 0,
    warmupIterations: warm.length,
    warmupTime: warmMs,
    retainSamples: true,
    throws: true,
    setup: (_: Task | undefined, mode: string | undefined) => {
      isWarm = mode === "run";
      turn = 0;
    },
  });
  // Samples are sorted by tinybench; the order of the questions does not matter to them.
  bench.add(kind, ask, { async: true });
  const [task] = await bench.run();
  const result = task!.result;
  if (!("latency" in result)) throw new Error(`${kind}: ${result.state}`);
  return { kind, samplesMs: [...(result.latency.samples ?? [])], hashes };
}

const [{ order, place }] = (await once(process, "message")) as [RunnerOrder];
await send({ kind: "outcome", outcome: await carryOut(order, place) });
process.disconnect();
