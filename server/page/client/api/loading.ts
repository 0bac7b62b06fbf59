/** What is loaded from the server: the last answer stays while the next one is on its way. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ApiProblem } from "./client.ts";

export interface Loading<Input, Output> {
  readonly answer: ReadonlySignal<Output | undefined>;
  readonly problem: ReadonlySignal<ApiProblem | undefined>;
  readonly isLoading: ReadonlySignal<boolean>;
  /** Milliseconds that the last answer took. */
  readonly tookMs: ReadonlySignal<number>;
  /** Asks; an earlier question that was not answered yet is given up. */
  load(input: Input): Promise<void>;
  /** Gives up, and forgets the answer. */
  clear(): void;
}

export function makeLoading<Input, Output>(
  ask: (input: Input, aborting: AbortSignal) => Promise<Output>,
): Loading<Input, Output> {
  const answer: Signal<Output | undefined> = signal(undefined);
  const problem: Signal<ApiProblem | undefined> = signal(undefined);
  const isLoading = signal(false);
  const tookMs = signal(0);
  let running: AbortController | undefined;

  async function load(input: Input): Promise<void> {
    running?.abort();
    const own = new AbortController();
    running = own;
    isLoading.value = true;
    const startedMs = performance.now();
    try {
      const next = await ask(input, own.signal);
      if (running !== own) return;
      tookMs.value = performance.now() - startedMs;
      problem.value = undefined;
      answer.value = next;
    } catch (error) {
      if (running !== own || own.signal.aborted) return;
      if (!(error instanceof ApiProblem)) throw error;
      problem.value = error;
    } finally {
      if (running === own) isLoading.value = false;
    }
  }

  function clear(): void {
    running?.abort();
    running = undefined;
    isLoading.value = false;
    answer.value = undefined;
    problem.value = undefined;
  }

  return { answer, problem, isLoading, tookMs, load, clear };
}

/** A loading of one component, which ends with it. Each question is asked by the `ask` of the newest render. */
export function useLoading<Input, Output>(
  ask: (input: Input, aborting: AbortSignal) => Promise<Output>,
): Loading<Input, Output> {
  const newest = useRef(ask);
  newest.current = ask;
  const loading = useMemo(
    () => makeLoading<Input, Output>((input, aborting) => newest.current(input, aborting)),
    [],
  );
  useEffect(() => loading.clear, []);
  return loading;
}
