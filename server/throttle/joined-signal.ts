/**
 * Signals that abort when one of several does, and forget those again. `AbortSignal.any` keeps a record of each signal
 * that it made for as long as its sources live, which is as long as the server for one that says that it stops.
 */

export interface JoinedSignal {
  readonly signal: AbortSignal;
  /** To be called when the work is over: the sources do not hold the signal any more. */
  leave(): void;
}

/** A signal that aborts as soon as one of these does, with its reason. */
export function joinSignals(...sources: readonly AbortSignal[]): JoinedSignal {
  const controller = new AbortController();
  const onAbort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  const leave = () => {
    for (const source of sources) source.removeEventListener("abort", onAbort);
  };
  for (const source of sources) {
    if (source.aborted) controller.abort(source.reason);
    else source.addEventListener("abort", onAbort, { once: true });
  }
  return { signal: controller.signal, leave };
}

/** Runs `act` with a signal that aborts as soon as one of these does. */
export async function withJoinedSignal<T>(
  sources: readonly AbortSignal[],
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, leave } = joinSignals(...sources);
  try {
    return await act(signal);
  } finally {
    leave();
  }
}
