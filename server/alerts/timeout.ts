/** Gives up what takes longer or is called off, and whoever does not listen to that is left alone. */
export async function within<T>(
  ms: number,
  callOff: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let giveUp: (reason: Error) => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    giveUp = (reason) => {
      controller.abort();
      reject(reason);
    };
  });
  const timer = setTimeout(() => giveUp(new Error(`the query took longer than ${ms / 1000} s`)), ms);
  const stop = () => giveUp(new Error("the server is stopping"));
  callOff.addEventListener("abort", stop);
  try {
    return await Promise.race([act(controller.signal), late]);
  } finally {
    clearTimeout(timer);
    callOff.removeEventListener("abort", stop);
  }
}
